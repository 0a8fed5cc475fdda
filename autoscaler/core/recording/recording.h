#pragma once

#include "autoscaler/core/recording/input_code.h"
#include "autoscaler/core/recording/recorded_input.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// How much is kept of all recordings together.
struct RecordingLimits {
  Duration kept = std::chrono::minutes{15};
  std::size_t bytes_max = 32U << 20U;
};

/// A stretch of a recording that can be replayed by itself.
struct RecordedStretch {
  ScalerStart start = {};
  InputCode code = {};
  TimePoint until{};   ///< of the newest input
  bool joins = false;  ///< it continues the stretch before it
};

class Recording;

/// The recordings of all scalers of a program within one bound of memory: whatever is oldest goes
/// first, and what is older than the time that is kept.
class Recordings {
 public:
  explicit Recordings(RecordingLimits limits = {}) : limits_{limits} {}

  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;
  ~Recordings() = default;

  /// Memory in use, about.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] const RecordingLimits& limits() const { return limits_; }

 private:
  friend class Recording;

  struct Entry {
    Recording* owner = nullptr;
    RecordedStretch stretch = {};
    std::size_t bytes = 0;  // as counted in bytes_
  };

  // In the order in which they began.
  using Entries = std::list<Entry>;

  void count(Entry& entry);
  void make_room(TimePoint now);
  void drop(Entries::iterator entry);

  RecordingLimits limits_;
  Entries entries_;
  std::size_t bytes_ = 0;
};

/// What one scaler gets, as long as that is kept. The scaler tells it each input
/// (RevisionScaler::record_to); its owner tells of what happens around it. A scaler that has slept
/// for a minute is not recorded until something wakes it.
class Recording {
 public:
  /// `all` outlives this.
  explicit Recording(Recordings& all) : all_{all} {}

  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  /// What the spec in force, or the one that comes next, is resolved from.
  void note_given(std::shared_ptr<const GivenScaling> given) { given_ = std::move(given); }

  /// Another scaler is recorded from now on.
  void begin_again();

  // From the scaler, before the input takes effect.
  void got(const RevisionScaler& scaler, const StatInput& stat);
  void got(const RevisionScaler& scaler, const ScalingSpec& scaling, TimePoint now);
  void got(const RevisionScaler& scaler, const BoundsInput& bounds);
  void got(const RevisionScaler& scaler, const WakeInput& wake);
  void got(const RevisionScaler& scaler, const SleepInput& sleep);
  void got(const RevisionScaler& scaler, const ClockStepInput& step);
  void evaluates(const RevisionScaler& scaler, TimePoint now);

  /// From the scaler, what came of the evaluation.
  void evaluated(const RevisionScaler& scaler, const EvalInput& eval);

  /// From its owner; what is as it was is not noted again.
  void note_granted(const GrantedNote& granted);

  /// Whether something is being recorded: notes of a scaler that sleeps are dropped.
  [[nodiscard]] bool runs() const { return current_ != nullptr; }

  void note(const TrafficNote& traffic);
  void note(const ColdStartNote& cold_start);
  void note(const ReplicaNote& replica);

  /// All that is kept, the oldest first; none when nothing is.
  [[nodiscard]] std::vector<RecordedStretch> stretches() const;

 private:
  friend class Recordings;

  void before(const RevisionScaler& scaler, std::optional<TimePoint> now);
  void append(const RecordedInput& input, std::optional<TimePoint> at);
  void begin(const RevisionScaler& scaler);
  void follow_sleep(const RevisionScaler& scaler, const EvalInput& eval);

  Recordings& all_;
  std::shared_ptr<const GivenScaling> given_;
  Recordings::Entry* current_ = nullptr;  // null: nothing is recorded, or the bound took it
  bool joins_ = false;                    // the next stretch continues the last one
  bool full_ = false;                     // it is due
  bool asleep_ = true;                    // and not recorded for that
  TimePoint now_{};                       // of the newest input
  std::optional<TimePoint> asleep_since_;
  std::optional<GrantedNote> granted_;
};

}  // namespace sluice::autoscaler
