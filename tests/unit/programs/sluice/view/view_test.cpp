#include "common/values/rfc3339.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/view/banner.h"
#include "programs/sluice/view/event_printer.h"
#include "programs/sluice/view/fields.h"
#include "programs/sluice/view/live_view.h"
#include "programs/sluice/view/log_text.h"
#include "programs/sluice/view/not_ready.h"
#include "programs/sluice/view/places_text.h"
#include "programs/sluice/view/tables.h"
#include <cstdlib>

namespace sluice::view {
namespace {

using nlohmann::json;

TEST(Banner, NamesTheAddressAndTheNextSteps) {
  EXPECT_EQ(banner_text({.version = "1.0.0",
                         .engine = "app",
                         .services = {{.url = "http://app.localhost:8080", .max = 8}},
                         .page_url = "http://sluice.localhost:8080/",
                         .ready_ms = 18}),
            "sluice 1.0.0 · engine app\n"
            "  service    http://app.localhost:8080   0..8 replicas, target 10 concurrent (70 %)\n"
            "  page       http://sluice.localhost:8080/\n"
            "  next       sluice load http://app.localhost:8080 --rate 200 --duration 60s\n"
            "ready in 18 ms; 0 replicas running\n");
}

TEST(Banner, CallsReplicasOfAnEngineThatJustOpenedStarting) {
  const std::string text = banner_text({.version = "1.0.0", .engine = "app", .replicas = 2});
  EXPECT_NE(text.find("; 2 replicas starting\n"), std::string::npos) << text;
  const std::string soon = banner_text(
      {.version = "1.0.0", .engine = "app", .services = {{.url = "http://a:1", .min = 1}}});
  EXPECT_NE(soon.find("; 1 replica starting\n"), std::string::npos) << soon;
}

TEST(Banner, NamesTheCertificateThatAClientNeeds) {
  const std::string text = banner_text({.version = "1.0.0",
                                        .engine = "app",
                                        .services = {{.url = "https://app.localhost:8080"}},
                                        .certificate = "/etc/tls.crt"});
  EXPECT_NE(text.find("curl --cacert /etc/tls.crt https://app.localhost:8080\n"), std::string::npos)
      << text;
}

TEST(Banner, ShowsHowTheTokenIsUsed) {
  BannerFacts facts{.version = "1.0.0",
                    .engine = "app",
                    .services = {{.url = "http://shop.localhost:8080"}},
                    .api_url = "http://localhost:8080/_sluice/api/v1",
                    .token_file = "/run/user/1/edit-token",
                    .allows_edit = true};
  const auto line = [&] {
    const std::string text = banner_text(facts);
    const std::size_t begin = text.find("curl");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line(),
            "curl -X POST -H '@/run/user/1/edit-token' "
            "http://localhost:8080/_sluice/api/v1/services/default/shop/wake");
  facts.page_url = "http://sluice.localhost:8080/";
  facts.edit_page = "/run/user/1/dashboard.html";
  EXPECT_NE(banner_text(facts).find("  page       file:///run/user/1/dashboard.html, which opens "
                                    "http://sluice.localhost:8080/ with the token\n"),
            std::string::npos);
  facts.allows_edit = false;
  EXPECT_EQ(line(),
            "curl -H '@/run/user/1/edit-token' http://localhost:8080/_sluice/api/v1/services");
}

json awake_service() {
  return json::parse(
      R"js({"name":"app","ready":7,"desired":7,"stable":14.1,"panic":46.0,"target":7.0,"total":10,
      "rps":312,"queued":0,"p50_ms":4.1,"p99_ms":22.8,"last_cold_start_ms":63,"state":"awake",
      "mode":"panic","mode_for_s":12,"why":"ceil(46.0 / 7.0)"})js");
}

TEST(Top, PrintsOneLinePerService) {
  EXPECT_EQ(top_text(top_rows(json::array({awake_service()}))),
            "SERVICE  READY/WANT  CONC stable/panic  TARGET            RPS  QUEUE  p50/p99 ms  "
            "LAST COLD  STATE        WHY\n"
            "app      7/7         14.1 / 46.0        7.0 (70 % of 10)  312  0      4 / 23      "
            "63 ms      panic 00:12  ceil(46.0 / 7.0)\n");
}

TEST(Top, LeavesTheLessImportantColumnsOutOfANarrowTable) {
  json asleep = awake_service();
  asleep.update({{"mode", "stable"}, {"state", "asleep"}, {"why", "no requests for 60 s"}});
  EXPECT_EQ(top_text(top_rows(json::array({asleep})), 60),
            "SERVICE  READY/WANT  RPS  QUEUE  STATE   WHY\n"
            "app      7/7         312  0      asleep  no requests for 60…\n");
  EXPECT_EQ(top_text(top_rows(json::array({asleep})), 34),
            "SERVICE  READY/WANT  RPS  STATE\n"
            "app      7/7         312  asleep\n");
  asleep["name"] = "a-service-with-a-long-name";
  EXPECT_EQ(top_text(top_rows(json::array({asleep})), 34),
            "SERVICE         READY/WANT  STATE\n"
            "a-service-wit…  7/7         asleep\n");
  EXPECT_EQ(top_text(top_rows(json::array({asleep})), 60),
            "SERVICE         READY/WANT  RPS  QUEUE  STATE   WHY\n"
            "a-service-wit…  7/7         312  0      asleep  no requests…\n");
  asleep["engine"] = "a-long-engine";
  EXPECT_EQ(top_text(top_rows(json::array({asleep})), 34),
            "ENGINE  SERVI…  READY/WANT  STATE\n"
            "a-lon…  a-ser…  7/7         asleep\n");
  asleep.erase("engine");
  asleep["why"] = "no memory: 212 MiB free, needs 256 MiB";
  asleep["name"] = "app";
  for (std::size_t columns = 27; columns < 140; ++columns) {
    const std::string text = top_text(top_rows(json::array({asleep})), columns);
    EXPECT_LE(width_of(text.substr(0, text.find('\n'))), columns);
    EXPECT_LE(width_of(text.substr(text.find('\n') + 1)), columns + 1);
  }
}

TEST(Fields, ANumberThatRoundsToZeroHasNoSign) {
  EXPECT_EQ(one_decimal(-0.0), "0.0");
  EXPECT_EQ(one_decimal(-0.04), "0.0");
  EXPECT_EQ(one_decimal(-1e-17), "0.0");
  EXPECT_EQ(rounded(-0.4), "0");
  EXPECT_EQ(one_decimal(0.06), "0.1");
}

TEST(Fields, ATargetIsShownWithItsShare) {
  EXPECT_EQ(target_text({{"target", 7.0}, {"total", 10.0}}), "7.0 (70 % of 10)");
  EXPECT_EQ(target_text({{"target", 1.4}, {"total", 2.0}}), "1.4 (70 % of 2)");
  EXPECT_EQ(target_text({{"target", 7.0}}), "7.0");
  EXPECT_EQ(target_text(json::object()), "-");
}

TEST(History, NamesWhatWasNotKept) {
  ::setenv("TZ", "UTC", 1);
  const json gaps = json::parse(
      R"([{"from":"2026-11-20T14:03:00Z","to":"2026-11-20T14:20:00Z","count":7,"lasts":false,
           "reason":"no space left on device"},
          {"from":"2026-11-20T15:00:00Z","to":"2026-11-20T15:01:00Z","count":2,"lasts":true,
           "reason":"no space left on device"},
          {"to":"2026-11-20T14:02:00Z","lasts":false,"reason":"history.db was damaged"}])");
  EXPECT_EQ(history_text(json::array(), gaps),
            "decisions from 14:03:00 to 14:20:00 were not kept: no space left on device\n"
            "decisions since 15:00:00 are not kept: no space left on device\n"
            "decisions before 14:02:00 are not kept: history.db was damaged\n");
  EXPECT_EQ(history_text(json::array(), json::array()), "nothing changed in that time\n");
}

TEST(LogText, ShowsLocalTimesOfLinesThatComeInPieces) {
  ::setenv("TZ", "UTC", 1);
  const TimePoint now = *parse_rfc3339("2026-11-20T20:00:00Z");
  LogText text;
  EXPECT_EQ(text.lines("2026-11-20T14:03:12.061Z app-0", now), "");
  EXPECT_EQ(text.lines("0001-1#3 | a\n2026-11-19T14:03:12.061Z app-00001-1#2 | b\nold | c\n2", now),
            "14:03:12.061 app-00001-1#3 | a\n2026-11-19 14:03:12.061 app-00001-1#2 | b\nold | c\n");
}

TEST(EventLines, ShowEachChangeWithItsReason) {
  EventLines lines;
  std::string text;
  for (const char* event :
       {R"({"type":"engine","event":"ready","time":"2026-11-20T14:03:00Z"})",
        R"({"type":"service","name":"app","state":"starting","queued":1,"ready":0,
            "time":"2026-11-20T14:03:00Z"})",
        R"({"type":"decision","service":"app","mode":"stable","bounded":1,"granted":1,
            "why":"activation","time":"2026-11-20T14:03:00.004Z"})",
        R"({"type":"decision","service":"app","mode":"stable","bounded":1,"granted":1,
            "why":"again","time":"2026-11-20T14:03:00.005Z"})",
        R"({"type":"cold_start","service":"app","replica":"app-00001-1","total_ms":63,"released":1,
            "phases_ms":{"queue":0,"decide":1,"create":1,"start":57,"ready":2,"first_byte":2},
            "time":"2026-11-20T14:03:00.061Z"})",
        R"({"type":"replica","service":"app","id":"app-00001-2","state":"exited","exit_code":1,
            "signal":null,"before_ready":true,"retry_in_ms":500,"stderr_tail":["Trace\u001b[2J"],
            "time":"2026-11-20T14:03:10Z"})",
        R"({"type":"engine","event":"stopped","stopped":3,"cut":0})"}) {
    text += lines.lines(json::parse(event));
  }
  EXPECT_EQ(text,
            "+0.000 s  first request held (queue 1)                    why: zero replicas\n"
            "+0.004 s  0 -> 1 replica                                  why: activation\n"
            "+0.061 s  ready, 1 held request released                  cold start 63 ms = queue 0 "
            "+ decide 1 + create 1 + start 57 + ready 2 + first byte 2\n"
            "+10.0  s  app-00001-2 exited with status 1 before it was ready; next try in 0.5 s\n"
            "  app-00001-2 | Trace?[2J\n"
            "stopped 3 replicas, 0 requests cut\n");
}

TEST(EventLines, ShowTheCauseOfAnEndInPlaceOfItsStatus) {
  EventLines lines;
  EXPECT_EQ(
      lines.lines(json::parse(
          R"({"type":"replica","service":"app","id":"app-00001-1","state":"exited",
                    "exit_code":3,"before_ready":true,"retry_in_ms":500,"cause":"exited",
                    "why":"it ended with exit code 3: no database",
                    "time":"2026-11-20T14:03:00Z"})")),
      "+0.000 s  app-00001-1 did not start; next try in 0.5 s    why: it ended with exit code 3: "
      "no database\n");
  EXPECT_EQ(
      lines.lines(json::parse(
          R"js({"type":"replica","service":"app","id":"app-00001-1","state":"exited","signal":9,
                    "before_ready":false,"why":"killed by signal 9 (Killed)",
                    "time":"2026-11-20T14:03:00Z"})js")),
      "+0.000 s  app-00001-1 ended                               why: killed by signal 9 "
      "(Killed)\n");
}

TEST(NotReady, ARevisionThatWasGivenUpIsListedBesideTheServingOne) {
  const json service = json::parse(
      R"({"name":"app","revision":"app-00001","ready":1,"why":"load","not_ready":[
          {"revision":"app-00002","state":"given_up","why":"it ended with exit code 3",
           "serving":["app-00001"]}]})");
  const std::string line = "app-00002 did not start: it ended with exit code 3; app-00001 serves";
  EXPECT_EQ(not_ready_lines(service), std::vector<std::string>{line});
  EXPECT_EQ(why_text(service), line);
}

TEST(NotReady, ARevisionWhoseReplicasDoNotStayIsNamedThoughItIsAwake) {
  const json service = json::parse(
      R"({"name":"app","revision":"app-00001","ready":1,"why":"load","not_ready":[
          {"revision":"app-00001","state":"restarting","why":"1 of its replicas ended"}]})");
  EXPECT_EQ(not_ready_lines(service),
            std::vector<std::string>{"app-00001 restarts: 1 of its replicas ended"});
  EXPECT_EQ(why_text(service), "1 of its replicas ended");
}

TEST(NotReady, AllThatServeInItsPlaceAreNamed) {
  EXPECT_EQ(serving_text(json{{"serving", {"a-00001"}}}), "a-00001 serves");
  EXPECT_EQ(serving_text(json{{"serving", {"a-00001", "a-00002", "a-00003"}}}),
            "a-00001, a-00002 and a-00003 serve");
  EXPECT_EQ(serving_text(json::object()), "");
}

TEST(NotReady, TheOnlyRevisionHasItsCauseAsTheReason) {
  json service = json::parse(
      R"({"name":"app","revision":"app-00001","ready":0,"why":"load","not_ready":[
          {"revision":"app-00001","state":"starting","why":"it listens on 8000"}]})");
  EXPECT_EQ(not_ready_lines(service),
            std::vector<std::string>{"app-00001 is not ready: it listens on 8000"});
  EXPECT_EQ(why_text(service), "it listens on 8000");
  service["not_ready"][0]["state"] = "failing";
  service["not_ready"][0].erase("why");
  EXPECT_EQ(not_ready_lines(service), std::vector<std::string>{"app-00001 does not start"});
  service["not_ready"].clear();
  EXPECT_EQ(why_text(service), "load");
}

TEST(EventLines, ShowARefusedStartOnceAndThrottledReplicas) {
  EventLines lines;
  std::string text;
  for (const char* event :
       {R"({"type":"decision","service":"app","mode":"stable","bounded":1,"granted":1,
            "why":"load","time":"2026-11-20T14:03:00Z"})",
        R"({"type":"decision","service":"app","mode":"stable","bounded":2,"granted":1,
            "why":"no memory: 12 MiB free, needs 64 MiB","time":"2026-11-20T14:03:01Z"})",
        R"({"type":"decision","service":"app","mode":"stable","bounded":2,"granted":1,
            "why":"no memory: 13 MiB free, needs 64 MiB","time":"2026-11-20T14:03:02Z"})",
        R"({"type":"replica","service":"app","id":"app-00001-1","state":"ready","throttled":true,
            "why":"usage","time":"2026-11-20T14:03:03Z"})",
        R"({"type":"replica","service":"app","id":"app-00001-1","state":"ready","throttled":false,
            "time":"2026-11-20T14:03:04Z"})"}) {
    text += lines.lines(json::parse(event));
  }
  EXPECT_EQ(
      text,
      "+0.000 s  0 -> 1 replica                                  why: load\n"
      "+1.000 s  1 of 2 wanted replicas may run                  why: no memory: 12 MiB free, "
      "needs 64 MiB\n"
      "+3.000 s  app-00001-1 throttled                           why: usage\n"
      "+4.000 s  app-00001-1 runs freely again\n");
}

TEST(EventPrinter, JsonModePrintsOneObjectPerLine) {
  std::string text;
  EventPrinter printer(PrintMode::json, [&](std::string_view line) { text += line; });
  printer.on_event({{"type", "log"}, {"text", "a\nb"}});
  EXPECT_EQ(text, "{\"text\":\"a\\nb\",\"type\":\"log\"}\n");
}

LiveView live_of(Quit quit) {
  LiveView live(quit, "engine app", "http://127.0.0.1:8080");
  live.set_services(json::parse(
      R"([{"name":"a","url":"http://a.localhost:8080","ready":1},{"name":"b","starting":1}])"));
  return live;
}

TEST(LiveView, FitsTheScreenAndFollowsKeys) {
  LiveView live = live_of(Quit::leaves);
  for (int i = 0; i < 50; ++i) {
    live.add_line("line " + std::to_string(i) + "\n");
  }
  EXPECT_FALSE(live.on_keys("\x1b[B"));
  EXPECT_EQ(live.selected(), "b");
  const auto frame = live.frame({.columns = 20, .rows = 10});
  EXPECT_EQ(frame.size(), 10U);
  EXPECT_EQ(frame[8], "line 49");
  EXPECT_TRUE(live.on_keys("q"));
}

TEST(LiveView, ShowsTheAddressOfTheChosenServiceAndTheEngine) {
  LiveView live = live_of(Quit::leaves);
  EXPECT_EQ(live.frame({})[0], "http://a.localhost:8080 · engine app");
  EXPECT_FALSE(live.on_keys("\x1b[B"));
  EXPECT_EQ(live.frame({})[0], "http://127.0.0.1:8080 · engine app");
  const auto narrow = live.frame({.columns = 30, .rows = 10});
  EXPECT_EQ(narrow[0], "http://127.0.0.1:8080");
  EXPECT_EQ(narrow[1], "engine app");
}

TEST(LiveView, KeepsEventsApartFromOutput) {
  LiveView live = live_of(Quit::ends);
  live.add_line("+1.0 s an event\n");
  for (int i = 0; i < 50; ++i) live.add_log("a", "a-00001-1 | " + std::to_string(i) + "\n");
  live.add_log("b", "b-00001-1 | other\n");
  const auto frame = live.frame({.columns = 80, .rows = 12});
  const std::vector<std::string> below(frame.begin() + 5, frame.end());
  EXPECT_EQ(below, (std::vector<std::string>{"events", "+1.0 s an event", "output of a",
                                             "a-00001-1 | 47", "a-00001-1 | 48", "a-00001-1 | 49",
                                             "q quit   e explain   l output   arrows choose"}));
}

TEST(LiveView, BreaksLongEventsAndExplanations) {
  LiveView live = live_of(Quit::ends);
  live.add_line("+1.000 s  0 -> 1 replica                                  why: activation\n");
  live.set_explanation("  not ready      a-00001 is not ready: it ended with exit code 3: none\n");
  const auto below = [&live] {
    const auto frame = live.frame({.columns = 34, .rows = 12});
    return std::vector<std::string>(frame.begin() + 6, frame.begin() + 9);
  };
  EXPECT_EQ(below(), (std::vector<std::string>{
                         "events", "+1.000 s  0 -> 1 replica  why:", "        activation"}));
  EXPECT_FALSE(live.on_keys("e"));
  EXPECT_EQ(below(),
            (std::vector<std::string>{"  not ready  a-00001 is not ready:",
                                      "        it ended with exit code 3:", "        none"}));
}

TEST(LiveView, NamesTheKeyThatKillsWhileTheEngineEnds) {
  LiveView live = live_of(Quit::ends);
  live.set_ending();
  EXPECT_EQ(live.frame({}).back(), "waits for requests in flight; Ctrl-C kills them");
  EXPECT_EQ(live.frame({.columns = 34}).back(), "ending; Ctrl-C kills");
}

TEST(Wrapped, BreaksWordsThatAreLongerThanALine) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("a  b", 4, 2), Lines{"a  b"});
  EXPECT_EQ(wrapped("ab cdefghijk é", 4, 1), (Lines{"ab", " cde", " fgh", " ijk", " é"}));
}

TEST(LiveView, AsksBeforeItEndsServices) {
  LiveView live = live_of(Quit::ends);
  EXPECT_FALSE(live.on_keys("q"));
  EXPECT_EQ(live.frame({}).back(), "end engine app, with 2 services and 2 replicas? y/n");
  EXPECT_EQ(live.frame({.columns = 34}).back(), "end all services? y/n");
  EXPECT_FALSE(live.on_keys("q"));
  EXPECT_EQ(live.frame({}).back(), "q quit   e explain   l output   arrows choose");
  EXPECT_FALSE(live.on_keys("y"));
  EXPECT_TRUE(live.on_keys("qy"));
}

TEST(Services, HaveTheirShareOfTheRequestsWhereTheyAreDivided) {
  const json latest = {
      {"name", "app"},    {"url", "http://app.localhost"},
      {"ready", 1},       {"desired", 1},
      {"state", "awake"}, {"revision", "app-00002"},
      {"percent", 100},   {"replicas", {{{"id", "app-00002-1"}, {"memory_bytes", 0}}}}};
  json older = latest;
  older["name"] = older["revision"] = "app-00001";
  older["percent"] = 0;

  EXPECT_EQ(get_text(json::array({latest}), false),
            "NAME  URL                   READY/WANT  STATE  REVISION\n"
            "app   http://app.localhost  1/1         awake  app-00002\n");
  EXPECT_EQ(get_text(json::array({latest, older}), false),
            "NAME       URL                   READY/WANT  STATE  REVISION   TRAFFIC\n"
            "app        http://app.localhost  1/1         awake  app-00002  100 %\n"
            "app-00001  http://app.localhost  1/1         awake  app-00001  -\n");
  EXPECT_TRUE(get_text(json::array({latest}), true).ends_with("  -\n"));
}

TEST(Services, AreShownWithTheirPlacesWhereThereAreSeveral) {
  json shop = {
      {"name", "shop"},
      {"places", {{{"name", "fast"}, {"replicas", 3}}, {{"name", "slow"}, {"replicas", 2}}}}};
  const json pay = {{"name", "pay"}};

  EXPECT_EQ(get_text(json::array({shop}), false).find("PLACES"), std::string::npos);
  EXPECT_EQ(get_text(json::array({pay}), true).find("PLACES"), std::string::npos);
  const std::string text = get_text(json::array({shop, pay}), true);
  EXPECT_NE(text.find("  PLACES          STARTING"), std::string::npos) << text;
  EXPECT_NE(text.find("  fast 3, slow 2  0"), std::string::npos) << text;
  EXPECT_NE(text.find("  -               0"), std::string::npos) << text;
}

TEST(Places, CpuIsWhatIsClaimedOfACapacityElseWhatIsUsedOfTheCores) {
  const auto row = [](json place) {
    place["name"] = "fast";
    return places_text(json::array({std::move(place)}));
  };
  const json claimed = {{"cpu_millicores", 250}};
  const json none = {{"cpu_millicores", nullptr}};
  const json two = {{"cpu_millicores", 2000}};

  EXPECT_NE(row({{"used", claimed}, {"capacity", none}, {"cores", 1}, {"cpu_use_millicores", 812}})
                .find("  0.8 of 1  "),
            std::string::npos);
  EXPECT_NE(row({{"used", claimed}, {"capacity", two}, {"cores", 1}, {"cpu_use_millicores", 812}})
                .find("  0.25 of 2  "),
            std::string::npos);
  EXPECT_EQ(row({{"used", claimed}, {"capacity", none}, {"cores", nullptr}}).find(" of "),
            std::string::npos);
}

TEST(Revisions, EachIsALineWithItsShareTagsAndAge) {
  const auto revisions = nlohmann::json::parse(R"([
    {"revision": "app-00003", "latest": true, "state": "awake", "ready": 2, "percent": 10,
     "tags": [], "created": "2026-11-20T14:00:00Z"},
    {"revision": "app-00002", "state": "asleep", "ready": 0, "percent": 90,
     "tags": ["stable", "old"], "created": "2026-11-19T14:00:00Z"},
    {"revision": "app-00001", "state": "kept", "ready": 0, "percent": 0, "tags": [],
     "created": null},
    {"revision": "app-00000", "state": "given_up", "ready": 0, "percent": 0, "tags": [],
     "created": null}])");
  EXPECT_EQ(revisions_text(revisions, *parse_rfc3339("2026-11-20T14:05:30Z")),
            "REVISION            STATE          REPLICAS  TRAFFIC  TAGS         AGE\n"
            "app-00003 (latest)  awake          2         10 %     -            5m\n"
            "app-00002           asleep         0         90 %     stable, old  1d\n"
            "app-00001           kept           0         -        -            -\n"
            "app-00000           did not start  0         -        -            -\n");
}

}  // namespace
}  // namespace sluice::view
