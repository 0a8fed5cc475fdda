#include "autoscaler/core/decision/decision_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace sluice::autoscaler {
namespace {

std::string ratio(double value) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%g", value);
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

// Loads with one decimal, as a person compares them; only tiny and absurd ones need more.
std::string load(double value) {
  constexpr double kPlain = 1e15;
  std::array<char, 64> text{};
  // Averages of zeros may come out below zero, or as -0.
  value = std::max(0.0, value);
  if (!(value < kPlain)) return ratio(value);
  const bool tiny = value != 0 && value < 0.1;
  const int length = tiny ? std::snprintf(text.data(), text.size(), "%.2g", value)
                          : std::snprintf(text.data(), text.size(), "%.1f", value);
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

std::string count(std::int32_t value) {
  return std::to_string(value);
}

std::string seconds(Duration duration) {
  return ratio(to_seconds(duration)) + " s";
}

// Minutes and seconds: 00:12.
std::string clock(Duration duration) {
  const auto whole = std::max<std::int64_t>(0, duration / std::chrono::seconds{1});
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return two(whole / 60) + ":" + two(whole % 60);
}

std::string division(const DecisionRecord& record, bool by_panic) {
  const double seen = by_panic ? record.panic : record.stable;
  const std::int32_t wanted = by_panic ? record.wanted_panic : record.wanted_stable;
  return "ceil(" + load(seen) + " / " + load(record.target) + ") = " + count(wanted);
}

std::string without_requests(const DecisionRecord& record) {
  return record.no_request_yet ? "no requests yet"
                               : "no requests for " + seconds(record.stable_window);
}

std::string woken(const DecisionRecord& record) {
  return record.takes_over ? "started as a new revision" : "woken by hand";
}

// The part the decider is responsible for, up to the rule that changed its number.
std::string decided(const DecisionRecord& record, bool with_rule) {
  const bool panicking = record.mode == Mode::panic;
  const bool by_panic = panicking && record.wanted_panic >= record.wanted_stable;
  if (record.decider_bound == Bound::panic_hold) {
    const Duration held = record.panic_entered ? record.time - *record.panic_entered : Duration{0};
    return "held at " + count(record.desired) + " by panic for " + clock(held);
  }
  std::string text = division(record, by_panic);
  if (panicking) {
    text = "panic: " + text;
    if (record.breach) {
      text += ", since " + count(record.wanted_panic) + " / " + count(std::max(1, record.ready)) +
              " >= " + ratio(record.panic_threshold);
    }
  } else if (record.wanted_stable == 0) {
    text = record.woken_by_hand ? woken(record) : without_requests(record);
  }
  if (!with_rule) return text;
  switch (record.decider_bound) {
    case Bound::scale_up_rate:
      return text + "; at most " + count(record.up_limit) + " by max-scale-up-rate";
    case Bound::scale_down_rate:
      return text + "; at least " + count(record.down_limit) + " by max-scale-down-rate";
    case Bound::activation_scale:
      return text + "; at least " + count(record.desired) + " by activation-scale";
    case Bound::scale_down_delay:
      return text + "; " + count(record.desired) + " held by scale-down-delay";
    case Bound::none:
    case Bound::panic_hold:
    case Bound::initial_scale:
    case Bound::min_scale:
    case Bound::max_scale:
    case Bound::scale_to_zero_off:
    case Bound::stable_window:
    case Bound::grace:
    case Bound::retention:
    case Bound::capacity:
    case Bound::no_data:
      return text;
  }
  return text;
}

// The part added by the bounds and by the way to zero; empty when they left the number alone.
std::string bounded(const DecisionRecord& record) {
  const std::string left = record.hold_left ? clock(*record.hold_left) : "00:00";
  switch (record.bound_by) {
    case Bound::initial_scale:
      return "at least initial-scale " + count(record.initial_scale);
    case Bound::min_scale:
      return "at least min-scale " + count(record.bounds.min);
    case Bound::max_scale:
      return "at most max-scale " + count(record.bounds.max);
    case Bound::scale_to_zero_off:
      return count(record.bounded) + " kept, scale to zero is off";
    case Bound::stable_window:
      if (record.in_flight) return count(record.bounded) + " kept for requests in flight";
      if (!record.hold_left) return count(record.bounded) + " kept until ready";
      return count(record.bounded) + " kept for " + left + " by the stable window";
    case Bound::grace:
      if (!record.hold_left) return count(record.bounded) + " kept until the activators answer";
      return count(record.bounded) + " kept for " + left + " by the grace period";
    case Bound::retention:
      return count(record.bounded) + " kept for " + left + " by pod retention";
    case Bound::none:
    case Bound::scale_up_rate:
    case Bound::scale_down_rate:
    case Bound::activation_scale:
    case Bound::panic_hold:
    case Bound::scale_down_delay:
    case Bound::capacity:
    case Bound::no_data:
      return {};
  }
  return {};
}

std::string without_data(const DecisionRecord& record, bool limited) {
  if (record.woken_by_hand) return woken(record);
  if (record.desired == 0 && record.bounded == 0) {
    return without_requests(record);
  }
  const std::string kept = limited ? "" : "; " + count(record.bounded) + " kept";
  if (record.metrics_missing) return "replicas report no metrics" + kept;
  return (record.desired < 0 ? "no data yet" : "no data") + kept;
}

}  // namespace

std::string_view name(Trigger trigger) {
  switch (trigger) {
    case Trigger::tick:
      return "tick";
    case Trigger::poke:
      return "poke";
    case Trigger::change:
      return "change";
  }
  return "";
}

std::string_view name(Mode mode) {
  return mode == Mode::panic ? "panic" : "stable";
}

std::string_view name(RouteMode mode) {
  return mode == RouteMode::serve ? "serve" : "proxy";
}

std::string_view name(ScalingMetric metric) {
  return metric == ScalingMetric::rps ? "rps" : "concurrency";
}

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::none:
      return "none";
    case Bound::scale_up_rate:
      return "scale_up_rate";
    case Bound::scale_down_rate:
      return "scale_down_rate";
    case Bound::activation_scale:
      return "activation_scale";
    case Bound::panic_hold:
      return "panic_hold";
    case Bound::scale_down_delay:
      return "scale_down_delay";
    case Bound::initial_scale:
      return "initial_scale";
    case Bound::min_scale:
      return "min_scale";
    case Bound::max_scale:
      return "max_scale";
    case Bound::scale_to_zero_off:
      return "scale_to_zero_off";
    case Bound::stable_window:
      return "stable_window";
    case Bound::grace:
      return "grace";
    case Bound::retention:
      return "retention";
    case Bound::capacity:
      return "capacity";
    case Bound::no_data:
      return "no_data";
  }
  return "";
}

void limit_by_capacity(DecisionRecord& record, std::int32_t granted, std::string shortage) {
  record.granted = granted;
  if (granted >= record.bounded) return;
  record.bound_by = Bound::capacity;
  record.shortage = std::move(shortage);
}

std::string why(const DecisionRecord& record) {
  if (record.told_to_sleep) return "put to sleep by hand";
  const std::string limit = bounded(record);
  // A floor that comes later makes the decider's own floor uninteresting.
  const bool floored = !limit.empty() && record.bound_by != Bound::max_scale;
  const std::string text =
      record.valid ? decided(record, !floored) : without_data(record, !limit.empty());
  if (record.bound_by == Bound::capacity) {
    const std::string fallback = "only " + count(record.granted) + " granted";
    return text + "; " + (record.shortage.empty() ? fallback : record.shortage);
  }
  return limit.empty() ? text : text + "; " + limit;
}

}  // namespace sluice::autoscaler
