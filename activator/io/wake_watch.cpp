#include "activator/io/wake_watch.h"

#include <algorithm>
#include <charconv>
#include <utility>

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

std::optional<WakeWatch::Phases> WakeWatch::first_byte(RevisionHandle revision, TimePoint arrived,
                                                       TimePoint dispatched, TimePoint now) {
  Wake* wake = find(revision);
  if (wake == nullptr) return std::nullopt;
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
  // A pod is seen by its address; that its process runs is seen first when it is ready.
  return Phases{.took = {.revision = {},
                         .queue = sent - usable,
                         .decide = decided - arrived,
                         .create = seen - decided,
                         .ready = usable - seen,
                         .first_byte = end - sent},
                .first = !std::exchange(wake->answered, true)};
}

std::string cold_start_lines(const proto::ColdStart& took) {
  std::string lines = "Sluice-Cold-Start: ";
  lines += std::to_string(std::chrono::round<std::chrono::milliseconds>(took.total()).count());
  const std::array<std::pair<std::string_view, Duration>, 6> steps{
      {{"queue", took.queue},
       {"decide", took.decide},
       {"create", took.create},
       {"start", took.start},
       {"ready", took.ready},
       {"first_byte", took.first_byte}}};
  lines += "\r\nServer-Timing: ";
  for (const auto& [name, duration] : steps) {
    if (name != steps.front().first) lines += ", ";
    lines += name;
    lines += ";dur=";
    append_ms(lines, duration);
  }
  lines += "\r\n";
  return lines;
}

void WakeWatch::write(metrics::Families& families) const {
  constexpr std::array<std::string_view, kPhases> kNames{"queued", "started", "probed",
                                                         "first_byte"};
  families.family("sluice_activator_cold_start_seconds", metrics::MetricType::histogram,
                  "Duration of cold start phases, per request that waited.");
  for (std::size_t phase = 0; phase < kPhases; ++phase) {
    families.histogram({{"phase", kNames[phase]}}, phases_[phase].view(metrics::kSeconds));
  }
  families.counter("sluice_activator_cold_requests_total",
                   "Requests that arrived while no pod was available, and were answered.", starts_);
}

}  // namespace sluice::activator
