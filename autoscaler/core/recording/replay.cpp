#include "autoscaler/core/recording/replay.h"

#include "autoscaler/core/decision/window_max.h"
#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

// What a scaler keeps from its making on is as if it had been made with the other spec.
SavedScaler adapted(const ScalerStart& start, const ScalingSpec& scaling) {
  SavedScaler state = start.state;
  const DeciderSpec& now = scaling.decider;
  const DeciderSpec& before = start.scaling.decider;
  if (now.scale_down_delay != before.scale_down_delay) {
    state.decider.delay.reset();
    if (now.scale_down_delay > Duration{0}) {
      state.decider.delay = WindowMax{now.scale_down_delay}.saved();
    }
  }
  if (now.aggregation != before.aggregation) state.collector.aggregation = now.aggregation;
  return state;
}

}  // namespace

struct Replay::Feed {
  Replay& replay;
  std::optional<DecisionRecord> decided = {};

  void operator()(const StatInput& input) const {
    if (input.scraped) {
      replay.scaler_->scraped(input.stat, input.at);
    } else {
      (void)replay.scaler_->push(input.stat, input.at, input.newest);
    }
  }

  void operator()(const EvalInput& input) {
    decided = replay.scaler_->evaluate(input.inputs, input.decided.time).record;
  }

  void operator()(const SpecInput& input) const {
    replay.given_ = input.given;
    replay.scaler_->update(replay.changed(input.scaling), input.at);
  }

  void operator()(const BoundsInput& input) const {
    replay.scaler_->set_bounds(input.min, input.max);
  }

  void operator()(const WakeInput& input) const {
    replay.scaler_->wake(input.at, input.takes_over);
  }

  void operator()(const SleepInput& input) const { replay.scaler_->sleep(input.at); }

  void operator()(const ClockStepInput& input) const { replay.scaler_->note_time(input.at); }

  void operator()(const TakeOverInput& input) const { replay.begin(input.start); }

  void operator()(const GrantedNote& /*note*/) const {}

  void operator()(const TrafficNote& /*note*/) const {}

  void operator()(const ColdStartNote& /*note*/) const {}

  void operator()(const ReplicaNote& /*note*/) const {}
};

Replay::Replay(const ScalerStart& start, std::string revision, ScalingChange change)
    : revision_{std::move(revision)}, change_{std::move(change)} {
  begin(start);
}

// As one that takes over, for only such a one restores.
void Replay::begin(const ScalerStart& start) {
  given_ = start.given;
  const ScalingSpec scaling = changed(start.scaling);
  // An initial scale of zero counts as reached from a scaler's making on; here it came later.
  ScalingSpec made = scaling;
  if (!start.state.initialized)
    made.decider.initial_scale = std::max(1, made.decider.initial_scale);
  scaler_ = std::make_unique<RevisionScaler>(
      RevisionScalerSpec{
          .scaling = made, .revision = revision_, .replicas = start.replicas, .taken_over = true},
      0, start.at);
  const bool restored = scaler_->restore(adapted(start, scaling), start.at);
  CHECK(restored);
  scaler_->update(scaling, start.at);
}

ScalingSpec Replay::changed(const ScalingSpec& scaling) const {
  return change_ ? change_(scaling, given_.get()) : scaling;
}

std::optional<DecisionRecord> Replay::feed(const RecordedInput& input) {
  Feed feed{*this};
  std::visit(feed, input);
  return std::move(feed.decided);
}

ScalerStart Replay::start(TimePoint at) const {
  return {.at = at,
          .scaling = scaler_->spec(),
          .given = given_,
          .replicas = scaler_->want(),
          .state = scaler_->saved()};
}

}  // namespace sluice::autoscaler
