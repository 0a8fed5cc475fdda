#include "autoscaler/core/recording/recording.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// A stretch begins with the state of the scaler, its windows above all: long windows make few
// stretches, so that states are a small part of what is kept.
constexpr Duration kStretch = std::chrono::minutes{1};
constexpr int kStretchesOfWindow = 4;

// So long a sleep is recorded, for the way there to be seen whole.
constexpr Duration kSleepRecorded = std::chrono::minutes{1};

std::size_t bytes_of(const RecordedStretch& stretch) {
  const SavedCollector& windows = stretch.start.state.collector;
  std::size_t bytes = sizeof(RecordedStretch) + stretch.code.bytes();
  for (const SavedWindow* window : {&windows.concurrency_stable, &windows.concurrency_panic,
                                    &windows.rps_stable, &windows.rps_panic}) {
    bytes += window->values.capacity() * sizeof(double);
  }
  const auto& delay = stretch.start.state.decider.delay;
  return delay ? bytes + delay->entries.capacity() * sizeof(SavedDelay::Entry) : bytes;
}

bool is_nothing(const Stat& stat) {
  return stat.average_concurrency == 0 && stat.request_count == 0;
}

}  // namespace

void Recordings::count(Entry& entry) {
  const std::size_t bytes = bytes_of(entry.stretch);
  bytes_ = bytes_ - entry.bytes + bytes;
  entry.bytes = bytes;
}

void Recordings::drop(Entries::iterator entry) {
  if (entry->owner->current_ == &*entry) entry->owner->current_ = nullptr;
  bytes_ -= entry->bytes;
  entries_.erase(entry);
}

void Recordings::make_room(TimePoint now) {
  while (!entries_.empty()) {
    const bool old = entries_.front().stretch.until < now - limits_.kept;
    if (!old && bytes_ <= limits_.bytes_max) return;
    drop(entries_.begin());
  }
}

Recording::~Recording() {
  for (auto at = all_.entries_.begin(); at != all_.entries_.end();) {
    const auto entry = at++;
    if (entry->owner == this) all_.drop(entry);
  }
}

void Recording::begin_again() {
  current_ = nullptr;
  joins_ = false;
  full_ = false;
  asleep_ = true;
  asleep_since_.reset();
  granted_.reset();
}

void Recording::begin(const RevisionScaler& scaler) {
  Recordings::Entry& entry = all_.entries_.emplace_back();
  entry.owner = this;
  entry.stretch = {.start = {.at = now_,
                             .scaling = scaler.spec(),
                             .given = given_,
                             .replicas = scaler.want(),
                             .state = scaler.saved()},
                   .code = {},
                   .until = now_,
                   .joins = joins_};
  current_ = &entry;
  joins_ = true;
  full_ = false;
  asleep_ = false;
  all_.count(entry);
}

// A stretch ends behind an evaluation, where nothing is on its way that the state does not have.
void Recording::before(const RevisionScaler& scaler, std::optional<TimePoint> now) {
  now_ = now.value_or(now_);
  if (current_ == nullptr) joins_ = false;
  if (current_ == nullptr || full_) begin(scaler);
}

void Recording::append(const RecordedInput& input, std::optional<TimePoint> at) {
  if (current_ == nullptr) return;
  if (at) current_->stretch.until = std::max(current_->stretch.until, *at);
  current_->stretch.code.append(input);
  all_.count(*current_);
  all_.make_room(now_);
}

// What an activator says of a revision that sleeps, or that it says nothing, changes nothing.
void Recording::got(const RevisionScaler& scaler, const StatInput& stat) {
  if (asleep_ && is_nothing(stat.stat)) return;
  before(scaler, std::max(now_, stat.at));
  append(stat, now_);
}

void Recording::got(const RevisionScaler& scaler, const ScalingSpec& scaling, TimePoint now) {
  before(scaler, now);
  append(SpecInput{.at = now, .scaling = scaling, .given = given_}, now);
}

void Recording::got(const RevisionScaler& scaler, const BoundsInput& bounds) {
  before(scaler, std::nullopt);
  append(bounds, std::nullopt);
}

void Recording::got(const RevisionScaler& scaler, const WakeInput& wake) {
  before(scaler, wake.at);
  append(wake, wake.at);
}

void Recording::got(const RevisionScaler& scaler, const SleepInput& sleep) {
  before(scaler, sleep.at);
  append(sleep, sleep.at);
}

void Recording::got(const RevisionScaler& scaler, const ClockStepInput& step) {
  // What an evaluation notices is in the middle of it.
  if (step.by == Duration{0}) before(scaler, step.at);
  append(step, step.at);
}

void Recording::evaluates(const RevisionScaler& scaler, TimePoint now) {
  if (!asleep_ || scaler.want() > 0) before(scaler, now);
}

void Recording::evaluated(const RevisionScaler& scaler, const EvalInput& eval) {
  now_ = eval.decided.time;
  append(eval, now_);
  follow_sleep(scaler, eval);
  if (current_ == nullptr) return;
  const Duration length =
      std::max(kStretch, scaler.spec().decider.stable_window / kStretchesOfWindow);
  full_ = now_ - current_->stretch.start.at >= length || now_ < current_->stretch.start.at;
}

void Recording::follow_sleep(const RevisionScaler& scaler, const EvalInput& eval) {
  if (scaler.want() > 0 || eval.inputs.ready > 0) {
    asleep_ = false;
    asleep_since_.reset();
    return;
  }
  if (!asleep_since_ || now_ < *asleep_since_) asleep_since_ = now_;
  if (now_ - *asleep_since_ < kSleepRecorded) return;
  asleep_ = true;
  current_ = nullptr;
}

void Recording::note_granted(const GrantedNote& granted) {
  const bool short_before = granted_ && !granted_->shortage.empty();
  if (granted_ && granted_->granted == granted.granted &&
      short_before == !granted.shortage.empty()) {
    return;
  }
  granted_ = granted;
  append(granted, granted.at);
}

void Recording::note(const TrafficNote& traffic) {
  append(traffic, traffic.at);
}

void Recording::note(const ColdStartNote& cold_start) {
  append(cold_start, cold_start.at);
}

void Recording::note(const ReplicaNote& replica) {
  append(replica, replica.at);
}

std::vector<RecordedStretch> Recording::stretches() const {
  std::vector<RecordedStretch> all;
  for (const Recordings::Entry& entry : all_.entries_) {
    if (entry.owner == this) all.push_back(entry.stretch);
  }
  return all;
}

}  // namespace sluice::autoscaler
