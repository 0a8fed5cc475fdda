#pragma once

#include "autoscaler/placement/core/grant.h"
#include "common/scaling/scaling_spec.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// What made an evaluation happen.
enum class Trigger {
  tick,    ///< the 2 s rhythm
  poke,    ///< an activator reported requests for a revision at zero
  change,  ///< a changed spec or bound, or a command of a person
};

enum class Mode { stable, panic };

/// Whether requests go through the activators or straight to the pods.
enum class RouteMode { proxy, serve };

/// The last rule that changed the number (protocols.md 5).
enum class Bound {
  none,
  scale_up_rate,
  scale_down_rate,
  activation_scale,
  panic_hold,
  scale_down_delay,
  initial_scale,
  min_scale,
  max_scale,
  scale_to_zero_off,
  stable_window,
  grace,
  retention,
  capacity,
  no_data,
};

/// The snake_case names used in JSON.
[[nodiscard]] std::string_view name(Trigger trigger);
[[nodiscard]] std::string_view name(Mode mode);
[[nodiscard]] std::string_view name(RouteMode mode);
[[nodiscard]] std::string_view name(Bound bound);
[[nodiscard]] std::string_view name(ScalingMetric metric);

/// One evaluation with everything that went into it: what the decision JSON, the log line, the
/// history and `explain` are made of.
struct DecisionRecord {
  TimePoint time{};
  std::string revision;
  Trigger trigger = Trigger::tick;
  bool valid = false;  ///< false: no data, the last answer stays in force
  ScalingMetric metric = ScalingMetric::concurrency;
  double stable = 0;               ///< average over the stable window
  double panic = 0;                ///< average over the panic window
  double target = 0;               ///< per pod
  double total = 0;                ///< capacity of a pod
  std::int32_t ready = 0;          ///< pods
  std::int32_t wanted_stable = 0;  ///< ceil(stable / target)
  std::int32_t wanted_panic = 0;   ///< ceil(panic / target)
  std::int32_t up_limit = 0;       ///< most pods one decision may request
  std::int32_t down_limit = 0;     ///< fewest
  Mode mode = Mode::stable;
  std::int32_t desired = -1;  ///< the decider's answer before bounds; -1 = not known yet
  std::int32_t bounded = 0;   ///< what should run, after every rule
  std::int32_t granted = 0;   ///< what may run; less than `bounded` when capacity is short
  Bound bound_by = Bound::none;
  std::int32_t excess_burst_capacity = 0;
  RouteMode route_mode = RouteMode::proxy;

  // Not in the decision JSON, but in what `explain` adds to it and in the sentences.
  Bound decider_bound = Bound::none;  ///< the decider's own last rule, before bounds
  double panic_threshold = 2;
  double max_scale_up_rate = 1000;
  double max_scale_down_rate = 2;
  std::int32_t activation_scale = 0;
  Duration stable_window{0};
  Duration panic_window{0};
  Duration scale_down_delay{0};
  Bounds bounds;
  std::int32_t initial_scale = 1;
  bool breach = false;                     ///< the panic threshold is passed right now
  bool metrics_missing = false;            ///< pods are ready and there is no data of them
  bool in_flight = false;                  ///< the rate is 0, and requests still run or wait
  bool told_to_sleep = false;              ///< by a person, until the next request
  bool woken_by_hand = false;              ///< by a person, and no request has come since
  bool takes_over = false;                 ///< as a new revision, and not by hand
  bool no_request_yet = false;             ///< none has been reported since it is governed here
  std::optional<TimePoint> panic_entered;  ///< when this panic began
  std::optional<TimePoint> panic_until;    ///< earliest end of panic without another breach
  std::optional<Duration> hold_left;       ///< of stable_window, grace or retention
  std::string shortage;                    ///< why granted < bounded, from the part that granted
  std::vector<placement::PlaceShare>
      places{};  ///< of those granted; empty: there is one place only
};

/// Notes that only `granted` of the `bounded` pods may run, and why ("no memory: 212 MiB free,
/// needs 256 MiB").
void limit_by_capacity(DecisionRecord& record, std::int32_t granted, std::string shortage);

/// One line for a person: why this number. For example "panic: ceil(46.0 / 7.0) = 7, since 7 / 1 >=
/// 2" or "ceil(21.0 / 7.0) = 3; 4 held by scale-down-delay".
[[nodiscard]] std::string why(const DecisionRecord& record);

}  // namespace sluice::autoscaler
