#pragma once

#include "autoscaler/core/decision/decision_record.h"

// The figures of a decision one by one, so that what is done to each is written once.
namespace sluice::autoscaler {

/// Those that the decision's own document lacks (protocols.md 5), by name: visit("breach", member).
/// `Record` is DecisionRecord, const or not.
template <class Record, class Visit>
void each_reason(Record& record, Visit&& visit) {
  visit("decider_bound", record.decider_bound);
  visit("initial_scale", record.initial_scale);
  visit("metrics_missing", record.metrics_missing);
  visit("in_flight", record.in_flight);
  visit("told_to_sleep", record.told_to_sleep);
  visit("woken_by_hand", record.woken_by_hand);
  visit("takes_over", record.takes_over);
  visit("no_request_yet", record.no_request_yet);
  visit("panic_entered_ns", record.panic_entered);
  visit("panic_until_ns", record.panic_until);
  visit("hold_left_ns", record.hold_left);
}

/// All of them but the revision's name and what placement adds.
template <class Record, class Visit>
void each_figure(Record& record, Visit&& visit) {
  visit("time_ns", record.time);
  visit("trigger", record.trigger);
  visit("valid", record.valid);
  visit("metric", record.metric);
  visit("stable", record.stable);
  visit("panic", record.panic);
  visit("target", record.target);
  visit("total", record.total);
  visit("ready", record.ready);
  visit("wanted_stable", record.wanted_stable);
  visit("wanted_panic", record.wanted_panic);
  visit("up_limit", record.up_limit);
  visit("down_limit", record.down_limit);
  visit("mode", record.mode);
  visit("desired", record.desired);
  visit("bounded", record.bounded);
  visit("granted", record.granted);
  visit("bound_by", record.bound_by);
  visit("excess_burst_capacity", record.excess_burst_capacity);
  visit("route_mode", record.route_mode);
  visit("panic_threshold", record.panic_threshold);
  visit("max_scale_up_rate", record.max_scale_up_rate);
  visit("max_scale_down_rate", record.max_scale_down_rate);
  visit("activation_scale", record.activation_scale);
  visit("stable_window_ns", record.stable_window);
  visit("panic_window_ns", record.panic_window);
  visit("scale_down_delay_ns", record.scale_down_delay);
  visit("min", record.bounds.min);
  visit("max", record.bounds.max);
  visit("breach", record.breach);
  each_reason(record, visit);
}

}  // namespace sluice::autoscaler
