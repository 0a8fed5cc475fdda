#include "activator/io/wake_watch.h"

#include <algorithm>
#include <charconv>

namespace sluice::activator {
namespace {

// Milliseconds with two digits behind the point, as Server-Timing has them.
void append_ms(std::string& out, Duration duration) {
  const std::int64_t hundredths = std::max<std::int64_t>(0, duration.count()) / 10'000;
  out += std::to_string(hundredths / 100);
  out += '.';
  out += static_cast<char>('0' + hundredths / 10 % 10);
  out += static_cast<char>('0' + hundredths % 10);
}

// A step that was over before the request came cost it nothing.
TimePoint step(TimePoint before, TimePoint at) {
  return at == TimePoint{} ? before : std::max(before, at);
}

}  // namespace

WakeWatch::Wake* WakeWatch::find(RevisionHandle revision) {
  const std::size_t index = index_of(revision);
  return index < wakes_.size() ? wakes_[index].get() : nullptr;
}

void WakeWatch::held(RevisionHandle revision, TimePoint now) {
  const std::size_t index = index_of(revision);
  if (wakes_.size() <= index) wakes_.resize(index + 1);
  auto& wake = wakes_[index];
  if (!wake) wake = std::make_unique<Wake>();
  // Another request of a start that is under way.
  if (wake->held != TimePoint{} && wake->usable == TimePoint{}) return;
  *wake = Wake{.held = now};
}

void WakeWatch::decided(RevisionHandle revision, TimePoint now) {
  Wake* wake = find(revision);
  if (wake != nullptr && wake->decided == TimePoint{}) wake->decided = now;
}

void WakeWatch::seen(RevisionHandle revision, TimePoint now) {
  Wake* wake = find(revision);
  if (wake != nullptr && wake->seen == TimePoint{}) wake->seen = now;
}

void WakeWatch::usable(RevisionHandle revision, TimePoint now) {
  Wake* wake = find(revision);
  if (wake != nullptr && wake->usable == TimePoint{}) wake->usable = now;
}

void WakeWatch::forget(RevisionHandle revision) {
  const std::size_t index = index_of(revision);
  if (index < wakes_.size()) wakes_[index].reset();
}

std::string WakeWatch::first_byte(RevisionHandle revision, TimePoint arrived, TimePoint dispatched,
                                  TimePoint now) {
  const Wake* wake = find(revision);
  if (wake == nullptr) return {};
  const TimePoint decided = step(arrived, wake->decided);
  const TimePoint seen = step(decided, wake->seen);
  const TimePoint usable = step(seen, wake->usable);
  const TimePoint sent = step(usable, dispatched);
  const TimePoint end = step(sent, now);
  ++starts_;
  const std::array<Duration, kPhases> phases{sent - usable, seen - arrived, usable - seen,
                                             end - sent};
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    phases_[phase].observe(metrics::kSeconds.find(phases[phase].count()), phases[phase].count());
  }
  std::string lines = "Sluice-Cold-Start: ";
  lines += std::to_string(std::chrono::round<std::chrono::milliseconds>(end - arrived).count());
  lines += "\r\nServer-Timing: queue;dur=";
  append_ms(lines, sent - usable);
  lines += ", decide;dur=";
  append_ms(lines, decided - arrived);
  lines += ", create;dur=";
  append_ms(lines, seen - decided);
  // A pod is seen by its address; that its process runs is seen first when it is ready.
  lines += ", start;dur=0.00, ready;dur=";
  append_ms(lines, usable - seen);
  lines += ", first_byte;dur=";
  append_ms(lines, end - sent);
  lines += "\r\n";
  return lines;
}

void WakeWatch::write(metrics::Exposition& text) const {
  constexpr std::array<std::string_view, kPhases> kNames{"queued", "started", "probed",
                                                         "first_byte"};
  text.family("sluice_activator_cold_start_seconds", metrics::MetricType::histogram,
              "Phases of cold starts, for each request that waited for one.");
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    text.histogram(metrics::label_text({{"phase", kNames[phase]}}),
                   phases_[phase].view(metrics::kSeconds));
  }
  text.family("sluice_activator_cold_requests_total", metrics::MetricType::counter,
              "Requests that came while no pod took any, and were answered.");
  text.count({}, starts_);
}

}  // namespace sluice::activator
