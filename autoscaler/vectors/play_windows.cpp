#include "autoscaler/core/window_average.h"
#include "autoscaler/core/window_max.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"
#include "common/load/request_stats.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace sluice::vectors {

using nlohmann::json;

void play_windows(const json& item, Expect& expect) {
  const auto epoch = item.at("epoch_unix").get<std::int64_t>();
  const bool linear = item.at("kind").get<std::string>() == "linear";
  autoscaler::WindowAverage window{
      length_of(item, "window_s"),
      linear ? autoscaler::Aggregation::linear : autoscaler::Aggregation::weighted,
      length_of(item, "granularity_s")};
  const json& ops = item.at("ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    const json& op = ops[i];
    const auto verb = op.at("op").get<std::string>();
    const TimePoint at = instant(op, "t", epoch);
    expect.within(element("ops", i));
    if (verb == "record") {
      window.record(at, op.at("v").get<double>());
    } else if (verb == "average") {
      expect.near("want", op.at("want"), window.average(at), linear ? kRounded : kFloating);
    } else if (verb == "is_empty") {
      expect.equal("want_empty", op.at("want_empty"), window.empty(at));
    } else if (verb == "resize") {
      window.resize(length_of(op, "window_s"), at);
    } else {
      throw std::runtime_error("unknown op " + verb);
    }
  }
}

void play_max_window(const json& item, Expect& expect) {
  const auto epoch = item.at("epoch_unix").get<std::int64_t>();
  autoscaler::WindowMax window{length_of(item, "duration_s"), length_of(item, "granularity_s")};
  const json& ops = item.at("ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    expect.within(element("ops", i));
    window.record(instant(ops[i], "t", epoch), ops[i].at("v").get<std::int32_t>());
    expect.equal("want", ops[i].at("want"), window.current());
  }
}

void play_request_stats(const json& item, Expect& expect) {
  load::RequestStats stats{TimePoint{}};
  const json& ops = item.at("ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    const json& op = ops[i];
    const auto verb = op.at("op").get<std::string>();
    const TimePoint at = instant(op, "t", 0);
    if (verb == "in") {
      stats.in(at);
    } else if (verb == "out") {
      stats.out(at);
    } else if (verb == "proxied_in") {
      stats.proxied_in(at);
    } else if (verb == "proxied_out") {
      stats.proxied_out(at);
    } else if (verb == "report") {
      const load::LoadReport got = stats.report(at);
      const json& want = op.at("want");
      expect.within(element("ops", i));
      expect.near("average_concurrency", want.at("average_concurrency"), got.average_concurrency,
                  kFloating);
      expect.near("average_proxied_concurrency", want.at("average_proxied_concurrency"),
                  got.average_proxied_concurrency, kFloating);
      expect.near("request_count", want.at("request_count"), got.request_count, kFloating);
      expect.near("proxied_request_count", want.at("proxied_request_count"),
                  got.proxied_request_count, kFloating);
    } else {
      throw std::runtime_error("unknown op " + verb);
    }
  }
}

}  // namespace sluice::vectors
