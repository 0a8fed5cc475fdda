#pragma once

#include "autoscaler/core/decision/revision_scaler.h"
#include "common/messages/activator_stream.h"
#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// What a recording is made of: the inputs of one RevisionScaler in the order in which it got them,
// and notes of what happened around it.
namespace sluice::autoscaler {

/// What a ScalingSpec was resolved from.
struct GivenScaling {
  ClusterConfig config = {};
  StringMap annotations = {};  ///< those that resolve() reads
  std::int64_t container_concurrency = 0;
  Reachability reachability = Reachability::unknown;

  friend bool operator==(const GivenScaling&, const GivenScaling&) = default;
};

/// From where a scaler can be continued: all that its next decisions depend on.
struct ScalerStart {
  TimePoint at{};
  ScalingSpec scaling = {};
  std::shared_ptr<const GivenScaling> given = {};  ///< null: not known
  std::int32_t replicas = 0;                       ///< that it wants
  SavedScaler state = {};
};

// The inputs.

struct StatInput {
  bool scraped = false;  ///< of all ready pods; else one that an activator sent
  Stat stat = {};
  TimePoint at{};
  std::optional<TimePoint> newest = {};  ///< when its newest request began
};

struct EvalInput {
  ScaleInputs inputs = {};
  DecisionRecord decided = {};  ///< what came of it; its time is that of the evaluation
};

struct SpecInput {
  TimePoint at{};
  ScalingSpec scaling = {};
  std::shared_ptr<const GivenScaling> given = {};  ///< null: not known
};

struct BoundsInput {
  std::optional<std::int32_t> min = {};
  std::optional<std::int32_t> max = {};
};

struct WakeInput {
  TimePoint at{};
  bool takes_over = false;
};

struct SleepInput {
  TimePoint at{};
};

/// The clock has moved without anything being observed.
struct ClockStepInput {
  TimePoint at{};
  Duration by{0};  ///< 0: it lies before the order to sleep
};

/// Another scaler continues from here: that of a new target, or the same one after a time that was
/// not recorded because it slept.
struct TakeOverInput {
  ScalerStart start = {};
};

// The notes.

/// What placement granted of the last decision.
struct GrantedNote {
  TimePoint at{};
  std::int32_t granted = 0;
  std::string shortage = {};  ///< why not all of it; empty: all
};

/// A second of requests.
struct TrafficNote {
  TimePoint at{};              ///< its end
  std::int64_t arrivals = 0;   ///< that came in it
  std::int64_t held = 0;       ///< that wait for a replica at its end
  std::int64_t in_flight = 0;  ///< likewise, on replicas
  /// Of the requests that ended in it: how long a replica took at most, and how many did; rising.
  std::vector<std::pair<Duration, std::uint32_t>> service = {};
  Duration service_total{0};  ///< what replicas took for all of them
  /// Likewise of those that a replica took not at once: how long they had waited at most.
  std::vector<std::pair<Duration, std::uint32_t>> waited = {};
  /// Of the arrivals that have ended in it, too: in which tenth of the second they came.
  std::array<std::uint32_t, 10> tenths = {};
};

enum class ReplicaEvent : std::uint8_t {
  started,
  ready,
  lost,  ///< it was ready, and ended or became unready without an order
  gone,  ///< it ended otherwise
};

[[nodiscard]] std::string_view name(ReplicaEvent event);

/// A change of one of its replicas.
struct ReplicaNote {
  TimePoint at{};
  ReplicaEvent event = ReplicaEvent::started;
  std::int32_t replicas = 0;  ///< there then: those that start, are ready or leave
  Duration took{0};           ///< until it was ready; of other events 0
};

struct ColdStartNote {
  TimePoint at{};
  proto::ColdStart took = {};  ///< without names
};

using RecordedInput = std::variant<StatInput, EvalInput, SpecInput, BoundsInput, WakeInput,
                                   SleepInput, ClockStepInput, TakeOverInput, GrantedNote,
                                   TrafficNote, ColdStartNote, ReplicaNote>;

/// When `input` happened; absent for what has no time of its own.
[[nodiscard]] std::optional<TimePoint> time_of(const RecordedInput& input);

}  // namespace sluice::autoscaler
