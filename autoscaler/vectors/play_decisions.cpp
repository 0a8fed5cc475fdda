#include "autoscaler/core/decision/collector.h"
#include "autoscaler/core/decision/decider.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"
#include "common/ring/hash_ring.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sluice::vectors {
namespace {

using nlohmann::json;

struct Parameters {
  autoscaler::DeciderSpec decider;
  autoscaler::Bounds bounds;
};

Parameters parameters(const json& config) {
  Parameters p;
  autoscaler::DeciderSpec& d = p.decider;
  const bool rps = text(config, "scaling_metric") == "rps";
  const std::string aggregation = text(config, "aggregation");
  const bool weighted =
      aggregation == "weighted-exponential" || aggregation == "weightedExponential";
  d.metric = rps ? autoscaler::ScalingMetric::rps : autoscaler::ScalingMetric::concurrency;
  d.aggregation = weighted ? autoscaler::Aggregation::weighted : autoscaler::Aggregation::linear;
  d.target_value = number(config, "target_value");
  d.total_value = number(config, "total_value");
  d.target_burst_capacity = number(config, "target_burst_capacity");
  d.activator_capacity = number(config, "activator_capacity");
  d.max_scale_up_rate = number(config, "max_scale_up_rate");
  d.max_scale_down_rate = number(config, "max_scale_down_rate");
  d.panic_threshold = number(config, "panic_threshold");
  d.stable_window = length_of(config, "stable_window_s");
  d.panic_window = length_of(config, "panic_window_s");
  d.scale_down_delay = seconds_of(config, "scale_down_delay_s");
  d.initial_scale = count(config, "initial_scale");
  d.activation_scale = count(config, "activation_scale");
  d.reachable = flag(config, "reachable");
  d.has_scrape_target = flag(config, "has_scrape_target");
  p.bounds.min = count(config, "min_scale");
  p.bounds.max = count(config, "max_scale");
  return p;
}

autoscaler::Stat stat_of(const json& item) {
  return {.average_concurrency = number(item, "c"),
          .average_proxied_concurrency = number(item, "pc"),
          .request_count = number(item, "r"),
          .proxied_request_count = number(item, "pr")};
}

// The decider, its windows and the parameters of one case, as the ticks change them.
class Stage {
 public:
  explicit Stage(const json& item)
      : epoch_(long_count(item, "epoch_unix")),
        now_(parameters(object_of(item, "config"))),
        linear_(now_.decider.aggregation == autoscaler::Aggregation::linear),
        collector_(now_.decider),
        decider_(now_.decider, count(object_of(item, "config"), "ready_pods_at_start"),
                 TimePoint{std::chrono::seconds{epoch_}}) {}

  void play(const json& tick, Expect& expect) {
    const TimePoint at = instant(tick, "t", epoch_);
    if (!value_of(tick, "update").is_null()) {
      now_ = parameters(object_of(tick, "update"));
      collector_.update(now_.decider, at);
      decider_.update(now_.decider);
    }
    const json& stats = value_of(tick, "stats");
    if (!stats.is_null() && !stats.is_array()) throw std::runtime_error("stats is not a list");
    for (const json& stat : stats) {
      collector_.record(stat_of(stat), instant(stat, "t", epoch_));
    }
    compare(tick, at, expect);
  }

 private:
  void compare(const json& tick, TimePoint at, Expect& expect) {
    const autoscaler::DeciderSpec& spec = now_.decider;
    const auto averages = collector_.averages(spec.metric, at);
    const bool has_data = !averages.empty || !spec.has_scrape_target;
    const auto pods = count(tick, "ready_pods");
    std::optional<std::int32_t> ready = pods;
    const std::string error = text(tick, "ready_error");
    if (error == "not_found") {
      ready = 0;
    } else if (!error.empty()) {
      ready.reset();
    }
    const autoscaler::Decision got = decider_.decide(
        {.stable = averages.stable, .panic = averages.panic, .has_data = has_data, .ready = ready},
        at);

    const json& want = object_of(tick, "expect");
    const auto tolerance = linear_ ? kRounded : kFloating;
    expect.equal("metric_error", value_of(want, "metric_error"), has_data ? "" : "no_data");
    expect.near("stable", value_of(want, "stable"), averages.stable, tolerance);
    expect.near("panic", value_of(want, "panic"), averages.panic, tolerance);
    expect.equal("scale_valid", value_of(want, "scale_valid"), got.valid);
    expect.equal("desired", value_of(want, "desired"), got.desired);
    expect.equal("excess_burst_capacity", value_of(want, "excess_burst_capacity"),
                 got.excess_burst_capacity);
    expect.equal("panic_mode", value_of(want, "panic_mode"), got.mode == autoscaler::Mode::panic);
    expect.equal("num_activators", value_of(want, "num_activators"),
                 autoscaler::activator_count(pods, spec.total_value, spec.target_burst_capacity,
                                             spec.activator_capacity));
    expect.equal("bounded", value_of(want, "bounded"),
                 got.valid ? autoscaler::bounded_scale(got.desired, now_.bounds) : 0);
  }

  std::int64_t epoch_;
  Parameters now_;
  bool linear_;  // chosen at creation; a later update does not change it
  autoscaler::Collector collector_;
  autoscaler::Decider decider_;
};

}  // namespace

void play_autoscaler(const json& item, Expect& expect) {
  Stage stage{item};
  const json& ticks = list_of(item, "ticks");
  for (std::size_t i = 0; i < ticks.size() && !expect.failed(); ++i) {
    expect.within(element("ticks", i));
    stage.play(ticks[i], expect);
  }
}

void play_decider_status(const json& item, Expect& expect) {
  autoscaler::DeciderSpec spec;
  spec.initial_scale = count(item, "initial_scale");
  spec.total_value = number(item, "total_value");
  spec.target_burst_capacity = number(item, "target_burst_capacity");
  autoscaler::DeciderStatus status{spec};
  const auto compare = [&](const json& want) {
    expect.equal("desired", value_of(want, "desired"), status.desired());
    expect.equal("excess_burst_capacity", value_of(want, "excess_burst_capacity"),
                 status.excess_burst_capacity());
  };
  expect.within("initial.");
  compare(object_of(item, "initial"));

  const json& events = list_of(item, "events");
  for (std::size_t i = 0; i < events.size() && !expect.failed(); ++i) {
    const json& event = events[i];
    expect.within(element("events", i));
    const json& ignored = value_of(event, "poke_ignored_before");
    if (!ignored.is_null()) {
      const bool pokes = status.pokes(number(ignored, "stat_concurrency"));
      expect.equal("poke_ignored_before", true, !pokes);
    }
    const std::string trigger = text(event, "trigger");
    if (trigger == "poke") {
      const auto concurrency = number(event, "stat_concurrency");
      expect.equal("trigger", "poke", status.pokes(concurrency) ? "poke" : "none");
    } else if (trigger != "tick" && !trigger.empty()) {
      throw std::runtime_error("unknown trigger " + trigger);
    }
    const json& result = object_of(event, "result");
    autoscaler::Decision decision;
    decision.valid = flag(result, "scale_valid");
    decision.desired = count(result, "desired");
    decision.excess_burst_capacity = count(result, "excess_burst_capacity");
    expect.equal("informed", value_of(event, "informed"), status.take(decision));
    expect.within(element("events", i) + "status.");
    compare(object_of(event, "status"));
  }
}

void play_final_scale(const json& item, Expect& expect) {
  const auto op = text(item, "op");
  std::int32_t got = 0;
  if (op == "bounds") {
    got = autoscaler::bounded_scale(count(item, "desired"),
                                    {.min = count(item, "min"), .max = count(item, "max")});
  } else if (op == "num_activators") {
    got = autoscaler::activator_count(count(item, "ready_pods"), number(item, "total_value"),
                                      number(item, "target_burst_capacity"),
                                      number(item, "activator_capacity"));
  } else {
    throw std::runtime_error("unknown op " + op);
  }
  expect.equal("want", value_of(item, "want"), got);
}

void play_sampling(const json& item, Expect& expect) {
  const auto op = text(item, "op");
  if (op == "sample_size") {
    expect.near("want", value_of(item, "want"), autoscaler::sample_size(number(item, "population")),
                kFloating);
    return;
  }
  if (op != "scrape_average") throw std::runtime_error("unknown op " + op);
  std::vector<autoscaler::Stat> answers;
  for (const json& stat : list_of(item, "stats")) answers.push_back(stat_of(stat));
  if (answers.empty()) throw std::runtime_error("no stats");
  const autoscaler::Stat got = autoscaler::scrape_average(answers, count(item, "ready_pods"));
  const json& want = object_of(item, "want");
  expect.within("want.");
  expect.near("c", value_of(want, "c"), got.average_concurrency, kFloating);
  expect.near("pc", value_of(want, "pc"), got.average_proxied_concurrency, kFloating);
  expect.near("r", value_of(want, "r"), got.request_count, kFloating);
  expect.near("pr", value_of(want, "pr"), got.proxied_request_count, kFloating);
}

void play_hashing(const json& item, Expect& expect) {
  const auto op = text(item, "op");
  if (op == "choose_subset") {
    auto names = names_of(item, "from");
    if (names.size() > ring::kNamesMax) throw std::runtime_error("too many names");
    const auto n = static_cast<std::size_t>(std::max(count(item, "n"), 0));
    expect.equal("want", value_of(item, "want"),
                 ring::choose_subset(std::move(names), n, text(item, "target")));
    return;
  }
  if (op != "bucket_owner") throw std::runtime_error("unknown op " + op);
  const auto buckets = names_of(item, "buckets");
  if (buckets.empty() || buckets.size() > ring::kNamesMax) {
    throw std::runtime_error("no buckets, or too many");
  }
  for (const auto& [key, owner] : object_of(item, "owner").items()) {
    expect.equal("owner." + key, owner, ring::bucket_owner(buckets, key));
  }
}

}  // namespace sluice::vectors
