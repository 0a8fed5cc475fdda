#pragma once

#include "autoscaler/core/recording/recorded_input.h"

// The members of what a recording begins with, each with its key, so that writing and reading it
// cannot differ. `visit("key", member)`; each type is taken const or not.
namespace sluice::autoscaler {

template <class Scaling, class Visit>
void each_setting(Scaling& scaling, Visit&& visit) {
  auto& decider = scaling.decider;
  visit("metric", decider.metric);
  visit("aggregation", decider.aggregation);
  visit("target", decider.target_value);
  visit("total", decider.total_value);
  visit("target_burst_capacity", decider.target_burst_capacity);
  visit("activator_capacity", decider.activator_capacity);
  visit("max_scale_up_rate", decider.max_scale_up_rate);
  visit("max_scale_down_rate", decider.max_scale_down_rate);
  visit("panic_threshold", decider.panic_threshold);
  visit("stable_window_ns", decider.stable_window);
  visit("panic_window_ns", decider.panic_window);
  visit("scale_down_delay_ns", decider.scale_down_delay);
  visit("initial_scale", decider.initial_scale);
  visit("activation_scale", decider.activation_scale);
  visit("reachable", decider.reachable);
  visit("has_scrape_target", decider.has_scrape_target);
  visit("min", scaling.bounds.min);
  visit("max", scaling.bounds.max);
  visit("scale_to_zero", scaling.zero.enabled);
  visit("grace_ns", scaling.zero.grace);
  visit("retention_ns", scaling.zero.retention);
  visit("progress_deadline_ns", scaling.zero.progress_deadline);
  visit("burst_capacity_hysteresis", scaling.burst_capacity_hysteresis);
}

template <class Window, class Visit>
void each_of_window(Window& window, Visit&& visit) {
  visit("window_ns", window.window);
  visit("first", window.first);
  visit("last", window.last);
  visit("total", window.total);
  visit("values", window.values);
}

template <class Attention, class Visit>
void each_of_attention(Attention& attention, Visit&& visit) {
  visit("evaluated_ns", attention.evaluated);
  visit("step_ns", attention.step);
  visit("usual_ns", attention.usual);
  visit("absent_since_ns", attention.absent_since);
  visit("resumed_ns", attention.resumed);
  visit("known_ns", attention.known);
  visit("had_data", attention.had_data);
  visit("settled", attention.settled);
}

/// Of a SavedScaler all but the windows, the delay and the attention.
template <class State, class Visit>
void each_of_state(State& state, Visit&& visit) {
  visit("newest_ns", state.collector.newest);
  visit("aggregation", state.collector.aggregation);
  visit("panic_since_ns", state.decider.panic_since);
  visit("panic_entered_ns", state.decider.panic_entered);
  visit("peak_pods", state.decider.peak_pods);
  visit("desired", state.desired);
  visit("excess_burst_capacity", state.excess_burst_capacity);
  visit("activity", state.activity);
  visit("activity_since_ns", state.activity_since);
  visit("serves", state.serves);
  visit("initialized", state.initialized);
  visit("told_to_sleep", state.told_to_sleep);
  visit("slept_at_ns", state.slept_at);
  visit("woken_by_hand", state.woken_by_hand);
  visit("takes_over", state.takes_over);
  visit("requested", state.requested);
}

/// The windows by name.
template <class Collector, class Visit>
void each_window(Collector& collector, Visit&& visit) {
  visit("concurrency_stable", collector.concurrency_stable);
  visit("concurrency_panic", collector.concurrency_panic);
  visit("rps_stable", collector.rps_stable);
  visit("rps_panic", collector.rps_panic);
}

template <class StatOf, class Visit>
void each_of_stat(StatOf& stat, Visit&& visit) {
  visit("average_concurrency", stat.average_concurrency);
  visit("average_proxied_concurrency", stat.average_proxied_concurrency);
  visit("request_count", stat.request_count);
  visit("proxied_request_count", stat.proxied_request_count);
}

/// The phases of a cold start (protocols.md 7).
template <class Start, class Visit>
void each_phase(Start& took, Visit&& visit) {
  visit("queue_ns", took.queue);
  visit("decide_ns", took.decide);
  visit("create_ns", took.create);
  visit("start_ns", took.start);
  visit("ready_ns", took.ready);
  visit("first_byte_ns", took.first_byte);
}

}  // namespace sluice::autoscaler
