#include "memory-pressure/io/status_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::node_agent {
namespace {

using Json = nlohmann::ordered_json;

/// A quiet agent; a test changes what it is about.
Json quiet() {
  return Json::parse(R"({
    "time": "2026-01-01T00:00:00Z", "version": "0.7", "node": "n1", "policy": "headroom",
    "on": true, "dry_run": false, "degraded": false, "trouble": "", "pressure": "ok", "why": "",
    "up_seconds": 7300, "guarded": true, "lease_seconds": 30,
    "autoscalers": ["autoscaler:8080"], "reporting": true, "memory_source": "/proc",
    "memory": {"capacity_bytes": 34359738368, "used_bytes": 17179869184, "upper": 0.9,
               "upper_in_force": 0.9, "lower": 0.84, "reserve_bytes": 209715200,
               "growth_bytes_per_second": 1572864, "admit_bytes": 1073741824},
    "runtime": {"socket": "/run/c.sock", "name": "containerd", "version": "1.6"},
    "containers": 12, "exempt": {"system": 2, "opted out": 1}, "throttled": []})");
}

std::string line(const std::string& table, const std::string& word) {
  const std::string lines = "\n" + table;
  const std::size_t before = lines.find("\n" + word + " ");
  if (before == std::string::npos) return {};
  return lines.substr(before + 1, lines.find('\n', before + 1) - before - 1);
}

TEST(StatusTable, ShowsTheStateOfTheNodeOnOneScreen) {
  const std::string table = status_table(quiet().dump());
  EXPECT_EQ(table,
            "pressure   ok\n"
            "agent      0.7 on n1, policy headroom, up 2.0 h\n"
            "source     /proc\n"
            "memory     16.0 GiB of 32.0 GiB in use (50.0 %), growing by 1.5 MiB/s\n"
            "bounds     acts above 90.0 %, relaxed below 84.0 %, keeps 200 MiB free\n"
            "gate       open: 1.0 GiB of new claims may start here\n"
            "runtime    containerd 1.6 on /run/c.sock\n"
            "watches    12 containers; never touched: 2 system, 1 opted out\n"
            "safety     a guardian releases all containers 30.0 s after the agent stops answering\n"
            "reports    to the autoscaler, at autoscaler:8080\n"
            "throttled  none\n");
}

TEST(StatusTable, AMissingGateIsNotShownAsANumber) {
  Json status = quiet();
  status["memory"]["admit_bytes"] = nullptr;
  EXPECT_EQ(line(status_table(status.dump()), "gate"), "gate       none: starts are not limited");
  status["memory"]["admit_bytes"] = 0;
  EXPECT_EQ(line(status_table(status.dump()), "gate"),
            "gate       closed: nothing should start here now");
}

TEST(StatusTable, UnusualStatesAreShown) {
  Json status = quiet();
  status["on"] = false;
  status["degraded"] = true;
  status["trouble"] = "the runtime does not answer";
  status["memory"]["upper_in_force"] = 0.88;
  status["guarded"] = false;
  status["reporting"] = false;
  status["runtime"] = {{"socket", ""}};
  const std::string table = status_table(status.dump());
  EXPECT_EQ(line(table, "degraded"), "degraded   the runtime does not answer");
  EXPECT_NE(line(table, "agent").find("SWITCHED OFF"), std::string::npos);
  EXPECT_NE(line(table, "bounds").find("88.0 % now (configured 90.0 %)"), std::string::npos);
  EXPECT_NE(line(table, "safety").find("no guardian runs"), std::string::npos);
  EXPECT_EQ(line(table, "reports"), "reports    not connected to autoscaler:8080");
  EXPECT_EQ(line(table, "runtime"), "runtime    not found yet");
}

TEST(StatusTable, EachThrottledContainerHasItsLine) {
  Json status = quiet();
  status["throttled"].push_back({{"namespace", "shop"},
                                 {"pod", "web"},
                                 {"container", "app"},
                                 {"id", "1"},
                                 {"quota_us", 2503},
                                 {"period_us", 100'000},
                                 {"original_quota_us", -1},
                                 {"original_period_us", 100'000},
                                 {"since", "2026-01-01T00:00:00Z"},
                                 {"since_seconds", 75.0},
                                 {"ladder_step", 3},
                                 {"in_force", false},
                                 {"releasing", false},
                                 {"why", "usage 91 %"}});
  const std::string table = status_table(status.dump());
  EXPECT_EQ(line(table, "throttled"), "throttled  1 container");
  EXPECT_NE(
      table.find("shop/web/app  25m       no limit  1 min     3     usage 91 % (not in force"),
      std::string::npos)
      << table;
}

TEST(StatusTable, AMalformedStatusMakesNoTable) {
  EXPECT_EQ(status_table("{}"), "");
  EXPECT_EQ(status_table("no"), "");
}

}  // namespace
}  // namespace sluice::node_agent
