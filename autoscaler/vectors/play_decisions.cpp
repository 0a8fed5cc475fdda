#include "autoscaler/core/collector.h"
#include "autoscaler/core/decider.h"
#include "autoscaler/core/hash_ring.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"

#include <nlohmann/json.hpp>

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
  const bool rps = config.at("scaling_metric").get<std::string>() == "rps";
  const bool linear = config.at("aggregation").get<std::string>() == "linear";
  d.metric = rps ? autoscaler::ScalingMetric::rps : autoscaler::ScalingMetric::concurrency;
  d.aggregation = linear ? autoscaler::Aggregation::linear : autoscaler::Aggregation::weighted;
  d.target_value = config.at("target_value").get<double>();
  d.total_value = config.at("total_value").get<double>();
  d.target_burst_capacity = config.at("target_burst_capacity").get<double>();
  d.activator_capacity = config.at("activator_capacity").get<double>();
  d.max_scale_up_rate = config.at("max_scale_up_rate").get<double>();
  d.max_scale_down_rate = config.at("max_scale_down_rate").get<double>();
  d.panic_threshold = config.at("panic_threshold").get<double>();
  d.stable_window = length_of(config, "stable_window_s");
  d.panic_window = length_of(config, "panic_window_s");
  d.scale_down_delay = seconds_of(config, "scale_down_delay_s");
  d.initial_scale = config.at("initial_scale").get<std::int32_t>();
  d.activation_scale = config.at("activation_scale").get<std::int32_t>();
  d.reachable = config.at("reachable").get<bool>();
  d.has_scrape_target = config.at("has_scrape_target").get<bool>();
  p.bounds.min = config.at("min_scale").get<std::int32_t>();
  p.bounds.max = config.at("max_scale").get<std::int32_t>();
  return p;
}

autoscaler::Stat stat_of(const json& item) {
  return {.average_concurrency = number_or_zero(item, "c"),
          .average_proxied_concurrency = number_or_zero(item, "pc"),
          .request_count = number_or_zero(item, "r"),
          .proxied_request_count = number_or_zero(item, "pr")};
}

// The decider, its windows and the parameters of one case, as the ticks change them.
class Stage {
 public:
  explicit Stage(const json& item)
      : epoch_(item.at("epoch_unix").get<std::int64_t>()),
        now_(parameters(item.at("config"))),
        collector_(now_.decider),
        decider_(now_.decider, item.at("config").at("ready_pods_at_start").get<std::int32_t>(),
                 TimePoint{std::chrono::seconds{epoch_}}) {}

  void play(const json& tick, Expect& expect) {
    const TimePoint at = instant(tick, "t", epoch_);
    if (tick.contains("update")) {
      now_ = parameters(tick.at("update"));
      collector_.update(now_.decider, at);
      decider_.update(now_.decider);
    }
    for (const json& stat : tick.at("stats")) {
      collector_.record(stat_of(stat), instant(stat, "t", epoch_));
    }
    compare(tick, at, expect);
  }

 private:
  void compare(const json& tick, TimePoint at, Expect& expect) {
    const autoscaler::DeciderSpec& spec = now_.decider;
    const auto averages = collector_.averages(spec.metric, at);
    const bool has_data = !averages.empty || !spec.has_scrape_target;
    const auto pods = tick.at("ready_pods").get<std::int32_t>();
    std::optional<std::int32_t> ready = pods;
    if (tick.contains("ready_error")) {
      ready.reset();
      if (tick.at("ready_error").get<std::string>() == "not_found") ready = 0;
    }
    const autoscaler::Decision got = decider_.decide(
        {.stable = averages.stable, .panic = averages.panic, .has_data = has_data, .ready = ready},
        at);

    const json& want = tick.at("expect");
    const auto tolerance =
        spec.aggregation == autoscaler::Aggregation::linear ? kRounded : kFloating;
    expect.equal("metric_error", want.value("metric_error", ""), has_data ? "" : "no_data");
    expect.near("stable", want.at("stable"), averages.stable, tolerance);
    expect.near("panic", want.at("panic"), averages.panic, tolerance);
    expect.equal("scale_valid", want.at("scale_valid"), got.valid);
    expect.equal("desired", want.at("desired"), got.desired);
    expect.equal("excess_burst_capacity", want.at("excess_burst_capacity"),
                 got.excess_burst_capacity);
    expect.equal("panic_mode", want.at("panic_mode"), got.mode == autoscaler::Mode::panic);
    expect.equal("num_activators", want.at("num_activators"),
                 autoscaler::activator_count(pods, spec.total_value, spec.target_burst_capacity,
                                             spec.activator_capacity));
    expect.equal("bounded", want.at("bounded"),
                 got.valid ? autoscaler::bounded_scale(got.desired, now_.bounds) : 0);
  }

  std::int64_t epoch_;
  Parameters now_;
  autoscaler::Collector collector_;
  autoscaler::Decider decider_;
};

}  // namespace

void play_autoscaler(const json& item, Expect& expect) {
  Stage stage{item};
  const json& ticks = item.at("ticks");
  for (std::size_t i = 0; i < ticks.size() && !expect.failed(); ++i) {
    expect.within(element("ticks", i));
    stage.play(ticks[i], expect);
  }
}

void play_decider_status(const json& item, Expect& expect) {
  autoscaler::DeciderSpec spec;
  spec.initial_scale = item.at("initial_scale").get<std::int32_t>();
  spec.total_value = item.at("total_value").get<double>();
  spec.target_burst_capacity = item.at("target_burst_capacity").get<double>();
  autoscaler::DeciderStatus status{spec};
  const auto compare = [&](const json& want) {
    expect.equal("desired", want.at("desired"), status.desired());
    expect.equal("excess_burst_capacity", want.at("excess_burst_capacity"),
                 status.excess_burst_capacity());
  };
  expect.within("initial.");
  compare(item.at("initial"));

  const json& events = item.at("events");
  for (std::size_t i = 0; i < events.size() && !expect.failed(); ++i) {
    const json& event = events[i];
    expect.within(element("events", i));
    if (event.contains("poke_ignored_before")) {
      const json& stat = event.at("poke_ignored_before").at("stat_concurrency");
      expect.equal("poke_ignored_before", true, !status.pokes(stat.get<double>()));
    }
    if (event.at("trigger").get<std::string>() == "poke") {
      const auto concurrency = event.at("stat_concurrency").get<double>();
      expect.equal("trigger", "poke", status.pokes(concurrency) ? "poke" : "none");
    }
    const json& result = event.at("result");
    autoscaler::Decision decision;
    decision.valid = result.at("scale_valid").get<bool>();
    decision.desired = result.at("desired").get<std::int32_t>();
    decision.excess_burst_capacity = result.at("excess_burst_capacity").get<std::int32_t>();
    expect.equal("informed", event.at("informed"), status.take(decision));
    expect.within(element("events", i) + "status.");
    compare(event.at("status"));
  }
}

void play_final_scale(const json& item, Expect& expect) {
  const auto op = item.at("op").get<std::string>();
  std::int32_t got = 0;
  if (op == "bounds") {
    got = autoscaler::bounded_scale(
        item.at("desired").get<std::int32_t>(),
        {.min = item.at("min").get<std::int32_t>(), .max = item.at("max").get<std::int32_t>()});
  } else if (op == "num_activators") {
    got = autoscaler::activator_count(item.at("ready_pods").get<std::int32_t>(),
                                      item.at("total_value").get<double>(),
                                      item.at("target_burst_capacity").get<double>(),
                                      item.at("activator_capacity").get<double>());
  } else {
    throw std::runtime_error("unknown op " + op);
  }
  expect.equal("want", item.at("want"), got);
}

void play_sampling(const json& item, Expect& expect) {
  const auto op = item.at("op").get<std::string>();
  if (op == "sample_size") {
    expect.near("want", item.at("want"),
                autoscaler::sample_size(item.at("population").get<double>()), kFloating);
    return;
  }
  if (op != "scrape_average") throw std::runtime_error("unknown op " + op);
  std::vector<autoscaler::Stat> answers;
  for (const json& stat : item.at("stats")) answers.push_back(stat_of(stat));
  if (answers.empty()) throw std::runtime_error("no stats");
  const autoscaler::Stat got =
      autoscaler::scrape_average(answers, item.at("ready_pods").get<std::int32_t>());
  const json& want = item.at("want");
  expect.within("want.");
  expect.near("c", want.at("c"), got.average_concurrency, kFloating);
  expect.near("pc", want.at("pc"), got.average_proxied_concurrency, kFloating);
  expect.near("r", want.at("r"), got.request_count, kFloating);
  expect.near("pr", want.at("pr"), got.proxied_request_count, kFloating);
}

void play_hashing(const json& item, Expect& expect) {
  const auto op = item.at("op").get<std::string>();
  if (op == "choose_subset") {
    auto names = item.at("from").get<std::vector<std::string>>();
    if (names.size() > autoscaler::kNamesMax) throw std::runtime_error("too many names");
    expect.equal("want", item.at("want"),
                 autoscaler::choose_subset(std::move(names), item.at("n").get<std::size_t>(),
                                           item.at("target").get<std::string>()));
    return;
  }
  if (op != "bucket_owner") throw std::runtime_error("unknown op " + op);
  const auto buckets = item.at("buckets").get<std::vector<std::string>>();
  if (buckets.empty() || buckets.size() > autoscaler::kNamesMax) {
    throw std::runtime_error("no buckets, or too many");
  }
  for (const auto& [key, owner] : item.at("owner").items()) {
    expect.equal("owner." + key, owner, autoscaler::bucket_owner(buckets, key));
  }
}

}  // namespace sluice::vectors
