#include "programs/sluice/view/explain_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace sluice::view {
namespace {

using nlohmann::json;

json decision() {
  return json::parse(
      R"js({"time":"2026-11-20T14:03:12Z","service":"app","revision":"app-00001",
      "metric":"concurrency",
      "stable":14.1,"panic":46.0,"target":7.0,"ready":1,"wanted_stable":3,"wanted_panic":7,
      "mode":"panic","desired":7,"bounded":7,"granted":7,"bound_by":"none","why":"ceil(46.0 / 7.0)",
      "inputs":{"stable_window_s":60,"panic_window_s":6,"panic_threshold":2,"breach":true,
      "max_scale_up_rate":1000,"min":0,"max":8,"mode_for_s":0,"may_fall_at":"2026-11-20T14:04:12Z"},
      "keeps_awake":[{"client":"127.0.0.1","request":"GET /","count":308},
      {"client":"127.0.0.1","request":"GET /health","count":4}]})js");
}

TEST(Explain, ShowsTheFormulasWithTheirNumbers) {
  ::setenv("TZ", "UTC", 1);
  EXPECT_EQ(explain_text(decision()),
            "app  7 replicas wanted, 7 granted, 1 ready          14:03:12, revision app-00001, "
            "panic mode for 0 s\n"
            "  stable (60 s)  14.1 concurrent / 7.0 per replica  -> 3\n"
            "  panic  (6 s)   46.0 concurrent / 7.0 per replica  -> 7     7 / 1 ready >= 2: panic\n"
            "  limits         at most 1000x up; bounds 0..8      -> 7     no rule changed it\n"
            "  next           may fall after 60 s without a breach, not before 14:04:12\n"
            "  awake because  312 requests in the last minute: 127.0.0.1 GET / (308), GET /health "
            "(4)\n");
}

TEST(Explain, NamesTheMovesThatMakeRoomAndWhenItIsAskedAgain) {
  ::setenv("TZ", "UTC", 1);
  json waiting = decision();
  waiting.update(
      {{"waits", "room is being made in fast: pay -> slow (warming)"},
       {"asked_again",
        {{"at", "2026-11-20T14:04:00Z"}, {"replica_of", json::array({"fast", "mid"})}}}});
  const std::string both = explain_text(waiting);
  EXPECT_NE(both.find("\n  waits          room is being made in fast: pay -> slow (warming)\n"),
            std::string::npos)
      << both;
  EXPECT_NE(both.find("not before 14:04:12; asked again when a replica of fast or mid ends or at "
                      "14:04:00\n"),
            std::string::npos)
      << both;
  waiting["inputs"].erase("may_fall_at");
  waiting["asked_again"].erase("at");
  const std::string one = explain_text(waiting);
  EXPECT_NE(one.find("\n  next           asked again when a replica of fast or mid ends\n"),
            std::string::npos)
      << one;
  waiting["time"] = "1970-01-01T00:00:00Z";  // nothing was decided yet
  const std::string early = explain_text(waiting);
  EXPECT_NE(early.find("  waits          room is being made"), std::string::npos) << early;
  EXPECT_NE(early.find("  next           asked again"), std::string::npos) << early;
}

TEST(Explain, HasTheReadyReplicasOfNowAndDividesByOneAtLeast) {
  json starting = decision();
  starting.update({{"ready", 0}, {"ready_now", 1}, {"wanted_panic", 1}});
  starting["inputs"]["breach"] = false;
  const std::string text = explain_text(starting);
  EXPECT_NE(text.find(" 7 granted, 1 ready "), std::string::npos) << text;
  EXPECT_NE(text.find("  1 / max(1, 0 ready) < 2\n"), std::string::npos) << text;
}

TEST(Explain, CallsAServiceThatServesRestartingAndNotUnready) {
  json restarting = decision();
  restarting["not_ready"] = json::parse(
      R"([{"revision":"app-00001","state":"restarting","why":"2 of its replicas ended"}])");
  EXPECT_NE(explain_text(restarting).find("\n  restarts       app-00001 restarts: 2 of its"),
            std::string::npos);
}

// What stands behind the number of the row of limits.
std::string limits_remark(const json& explained) {
  const std::string text = explain_text(explained);
  const std::size_t begin = text.find("-> ", text.find("  limits"));
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST(Explain, NamesAManualChangeOfTheNumber) {
  json woken = decision();
  woken.update({{"mode", "stable"}, {"wanted_stable", 0}, {"bounded", 1}});
  woken["why"] = "woken by hand";
  EXPECT_EQ(limits_remark(woken), "-> 1     by hand");
  woken["bound_by"] = "no_data";
  EXPECT_EQ(limits_remark(woken), "-> 1     by hand");
  woken["bound_by"] = "min_scale";
  EXPECT_EQ(limits_remark(woken), "-> 1     by min-scale");
}

TEST(Explain, IsShortBeforeTheFirstDecision) {
  EXPECT_EQ(explain_text({{"service", "app"},
                          {"time", "1970-01-01T00:00:00Z"},
                          {"revision", "app-00001"},
                          {"why", "no requests yet"}}),
            "app  nothing was decided yet, revision app-00001: no requests yet\n");
}

TEST(Explain, OmitsAnUnknownRule) {
  json kept = decision();
  kept.update({{"bounded", 5}, {"why", "no data yet"}});
  EXPECT_EQ(limits_remark(kept), "-> 5");
}

}  // namespace
}  // namespace sluice::view
