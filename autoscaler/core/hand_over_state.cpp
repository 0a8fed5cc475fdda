#include "autoscaler/core/hand_over_state.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kAheadMax = 5;        // buckets of a second
constexpr std::int64_t kSecondsPerSlot = 2;  // of a delay

// A part of a scaler under a shift; `good` becomes false for what cannot be.
class Shift {
 public:
  Shift(Duration by, TimePoint now) : by_(by), now_(now) {}

  void move(TimePoint& at) {
    at = std::min(at + by_, now_);
    good = good && at >= TimePoint{};
  }

  void move(std::optional<TimePoint>& at) {
    if (at) move(*at);
  }

  void move(proto::HandedWindow& window) {
    const std::int64_t by = std::chrono::duration_cast<seconds>(by_).count();
    if (window.first) *window.first += by;
    if (!window.last) return;
    *window.last += by;
    good = good && *window.last <= bucket_now() + kAheadMax && *window.last >= 0;
  }

  void move(proto::HandedDelay& delay) {
    const std::int64_t by = std::chrono::duration_cast<seconds>(by_).count() / kSecondsPerSlot;
    for (proto::HandedDelay::Entry& entry : delay.entries) entry.slot += by;
    if (delay.entries.empty()) return;
    good = good && delay.entries.back().slot * kSecondsPerSlot <= bucket_now() + kAheadMax;
  }

  bool good = true;

 private:
  [[nodiscard]] std::int64_t bucket_now() const {
    return std::chrono::floor<seconds>(now_).time_since_epoch().count();
  }

  Duration by_;
  TimePoint now_;
};

}  // namespace

std::optional<Duration> skew_of(TimePoint sent, TimePoint now) {
  const Duration apart = now - sent;
  if (apart > kHandOverSkewMax || apart < -kHandOverSkewMax) return std::nullopt;
  if (apart < kHandOverSkew && apart > -kHandOverSkew) return Duration{0};
  const Duration even = seconds{kSecondsPerSlot};
  return apart / even * even;
}

bool bring_to_our_clock(proto::HandedScaler& scaler, Duration by, TimePoint now) {
  Shift shift{by, now};
  shift.move(scaler.collector.concurrency_stable);
  shift.move(scaler.collector.concurrency_panic);
  shift.move(scaler.collector.rps_stable);
  shift.move(scaler.collector.rps_panic);
  shift.move(scaler.collector.newest);
  shift.move(scaler.decider.panic_since);
  shift.move(scaler.decider.panic_entered);
  if (scaler.decider.delay) shift.move(*scaler.decider.delay);
  shift.move(scaler.activity_since);
  shift.move(scaler.attention.evaluated);
  shift.move(scaler.attention.absent_since);
  shift.move(scaler.attention.resumed);
  return shift.good;
}

HandOverInbox::Accepted HandOverInbox::accept(proto::TakeRequest request,
                                              const std::function<bool(const RevisionId&)>& ours,
                                              TimePoint now) {
  std::erase_if(kept_, [now](const auto& each) { return now - each.second.since > kHandedLife; });
  Accepted accepted;
  const std::optional<Duration> by = skew_of(request.sent, now);
  for (proto::HandedRevision& handed : request.revisions) {
    const bool room = kept_.size() < kHandedAtOnceMax || kept_.contains(handed.revision);
    if (!by || !room || !ours(handed.revision) || !bring_to_our_clock(handed.scaler, *by, now)) {
      ++accepted.reply.left;
      continue;
    }
    ++accepted.reply.taken;
    kept_.insert_or_assign(handed.revision, Kept{std::move(handed.scaler), now});
    accepted.revisions.push_back(std::move(handed.revision));
  }
  return accepted;
}

std::optional<proto::HandedScaler> HandOverInbox::fetch(const RevisionId& revision, TimePoint now) {
  auto found = kept_.extract(revision);
  if (!found || now - found.mapped().since > kHandedLife) return std::nullopt;
  return std::move(found.mapped().scaler);
}

}  // namespace sluice::autoscaler
