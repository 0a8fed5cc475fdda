#include "autoscaler/core/decision/window_average.h"
#include "autoscaler/core/decision/window_max.h"
#include "autoscaler/vectors/case_values.h"
#include "autoscaler/vectors/players.h"
#include "common/load/request_stats.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace sluice::vectors {

using nlohmann::json;

void play_windows(const json& item, Expect& expect) {
  const auto epoch = long_count(item, "epoch_unix");
  const std::string kind = text(item, "kind");
  const bool linear = kind == "linear";
  if (!linear && kind != "weighted") throw std::runtime_error("unknown kind of window " + kind);
  autoscaler::WindowAverage window{
      length_of(item, "window_s"),
      linear ? autoscaler::Aggregation::linear : autoscaler::Aggregation::weighted,
      length_of(item, "granularity_s")};
  const json& ops = list_of(item, "ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    const json& op = ops[i];
    const auto verb = text(op, "op");
    const TimePoint at = instant(op, "t", epoch);
    expect.within(element("ops", i));
    if (verb == "record") {
      window.record(at, number(op, "v"));
    } else if (verb == "average") {
      expect.near("want", value_of(op, "want"), window.average(at), linear ? kRounded : kFloating);
    } else if (verb == "is_empty") {
      expect.equal("want_empty", value_of(op, "want_empty"), window.empty(at));
    } else if (verb == "resize") {
      window.resize(length_of(op, "window_s"), at);
    } else {
      throw std::runtime_error("unknown op " + verb);
    }
  }
}

void play_max_window(const json& item, Expect& expect) {
  const auto epoch = long_count(item, "epoch_unix");
  autoscaler::WindowMax window{length_of(item, "duration_s"), length_of(item, "granularity_s")};
  const json& ops = list_of(item, "ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    expect.within(element("ops", i));
    window.record(instant(ops[i], "t", epoch), count(ops[i], "v"));
    expect.equal("want", value_of(ops[i], "want"), window.current());
  }
}

void play_request_stats(const json& item, Expect& expect) {
  load::RequestStats stats{TimePoint{}};
  const json& ops = list_of(item, "ops");
  for (std::size_t i = 0; i < ops.size() && !expect.failed(); ++i) {
    const json& op = ops[i];
    const auto verb = text(op, "op");
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
      const json& want = value_of(op, "want");
      expect.within(element("ops", i));
      expect.near("average_concurrency", value_of(want, "average_concurrency"),
                  got.average_concurrency, kFloating);
      expect.near("average_proxied_concurrency", value_of(want, "average_proxied_concurrency"),
                  got.average_proxied_concurrency, kFloating);
      expect.near("request_count", value_of(want, "request_count"), got.request_count, kFloating);
      expect.near("proxied_request_count", value_of(want, "proxied_request_count"),
                  got.proxied_request_count, kFloating);
    } else {
      throw std::runtime_error("unknown op " + verb);
    }
  }
}

}  // namespace sluice::vectors
