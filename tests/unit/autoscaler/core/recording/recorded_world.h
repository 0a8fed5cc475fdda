#pragma once

#include "autoscaler/core/recording/recording.h"
#include "tests/unit/autoscaler/core/drawn_spec.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace sluice::autoscaler {

/// A scaler that is recorded, and all that it decided. Load comes and goes, pods follow, people and
/// settings interfere, the clock jumps: what happens is drawn from the seed.
class RecordedWorld {
 public:
  explicit RecordedWorld(std::uint64_t seed, RecordingLimits limits = {},
                         std::optional<ScalingSpec> spec = {})
      : random_{seed}, spec_{spec ? *spec : drawn()}, recordings_{limits} {
    recording_.note_given(std::make_shared<const GivenScaling>());
    scaler_.record_to(&recording_);
  }

  /// `seconds` of everything.
  void run(std::int64_t seconds) {
    for (const std::int64_t end = now_ + seconds; now_ < end; ++now_) second();
  }

  /// `seconds` with that much load and one evaluation in two.
  void load(double load, std::int64_t seconds) {
    for (const std::int64_t end = now_ + seconds; now_ < end; ++now_) {
      push(load);
      if (now_ % 2 == 0) evaluate();
    }
  }

  /// `seconds` without a word of an activator.
  void silence(std::int64_t seconds) {
    for (const std::int64_t end = now_ + seconds; now_ < end; ++now_) {
      if (now_ % 2 == 0) evaluate();
    }
  }

  void push(double load) {
    const Stat stat{.average_concurrency = load,
                    .average_proxied_concurrency = load / 4,
                    .request_count = load * 3,
                    .proxied_request_count = load / 3};
    const TimePoint time = at(now_) - std::chrono::milliseconds{random_() % 900};
    if (scaler_.push(stat, time, time - std::chrono::milliseconds{30})) evaluate();
    if (ready_ > 0) scaler_.scraped(stat, at(now_) + std::chrono::milliseconds{7});
  }

  void evaluate() {
    const ScaleInputs inputs{.trigger = random_() % 5 == 0 ? Trigger::change : Trigger::tick,
                             .ready = ready_,
                             .activator_connected = random_() % 40 != 0};
    decided_.push_back(scaler_.evaluate(inputs, at(now_)).record);
    if (ready_ != scaler_.want() && random_() % 3 == 0) ready_ += ready_ < scaler_.want() ? 1 : -1;
  }

  [[nodiscard]] const std::vector<DecisionRecord>& decided() const { return decided_; }

  [[nodiscard]] const Recording& recording() const { return recording_; }

  [[nodiscard]] Recording& recording() { return recording_; }

  [[nodiscard]] const Recordings& recordings() const { return recordings_; }

  [[nodiscard]] RevisionScaler& scaler() { return scaler_; }

  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  ScalingSpec drawn() {
    ScalingSpec spec = drawn_spec(random_);
    spec.decider.initial_scale = one_of(random_, 0, 1, 3);
    return spec;
  }

  void interfere() {
    switch (random_() % 7) {
      case 0:
        scaler_.update(drawn(), at(now_));
        break;
      case 1:
        scaler_.set_bounds(one_of(random_, 0, 1), 9);
        break;
      case 2:
        scaler_.wake(at(now_), random_() % 2 == 0);
        break;
      case 3:
        scaler_.sleep(at(now_));
        break;
      case 4:
        now_ += 25;
        break;
      case 5:
        now_ -= 4;
        scaler_.note_time(at(now_));
        break;
      case 6:
        recording_.note_granted({.at = at(now_), .granted = ready_, .shortage = "no room"});
        break;
    }
    evaluate();
  }

  void second() {
    if (random_() % 20 == 0) load_ = static_cast<double>(random_() % 400) / 7;
    if (random_() % 40 == 0) load_ = 0;
    if (random_() % 50 == 0) interfere();
    if (random_() % 30 != 0) push(load_);
    if (now_ % 2 == 0) evaluate();
  }

  std::mt19937_64 random_;
  ScalingSpec spec_;
  Recordings recordings_;
  Recording recording_{recordings_};
  RevisionScaler scaler_{{.scaling = spec_, .revision = "app-00001", .replicas = {}}, 0, at(0)};
  std::vector<DecisionRecord> decided_;
  double load_ = 0;
  std::int32_t ready_ = 0;
  std::int64_t now_ = 1;
};

}  // namespace sluice::autoscaler
