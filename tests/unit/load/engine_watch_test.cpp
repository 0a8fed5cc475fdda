#include "load/io/engine_watch.h"

#include "tests/unit/load/scripted_server.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "load/io/engine_events.h"

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;
using Reply = ScriptedServer::Reply;

constexpr const char* kServices =
    R"([{"name":"other","url":"http://other.localhost:8080","replicas":[]},
        {"name":"app","url":"http://app.localhost:8080","mode":"stable","replicas":[
          {"id":"app-00001-1","state":"ready"},{"id":"app-00001-2","state":"starting"}]}])";

const Target kTarget = *parse_target("http://app.localhost:8080");

TEST(EventLines, SplitsEventsWhereverTheBytesAreCut) {
  const std::string stream =
      ": hello\n\nevent: replica\r\nid: 4\r\ndata: {\"a\":1}\r\n\r\ndata:x\ndata:y\n\nevent: lost";
  for (std::size_t size = 1; size < stream.size(); ++size) {
    std::string seen;
    EventLines lines{[&seen](std::string_view event, std::string_view data) {
      seen.append(event).append("=").append(data).append(";");
    }};

    for (std::size_t at = 0; at < stream.size(); at += size) {
      lines.feed(std::string_view{stream}.substr(at, size));
    }

    EXPECT_EQ(seen, "replica={\"a\":1};=xy;") << size;
  }
}

TEST(EventLines, DropsAnEventThatIsTooLong) {
  int events = 0;
  EventLines lines{[&events](std::string_view, std::string_view) { ++events; }};

  lines.feed("data: " + std::string(EventLines::kEventBytesMax, 'x') + "\n\ndata: fine\n\n");

  EXPECT_EQ(events, 1);
}

TEST(JoinService, FindsTheServiceByItsHost) {
  ReplicaTrack track;

  ASSERT_TRUE(join_service(kServices, kTarget, track));

  EXPECT_EQ(track.service(), "app");
  EXPECT_EQ(track.ready_now(), 1U);
  EXPECT_FALSE(join_service(kServices, *parse_target("http://third.localhost:8080"), track));
}

TEST(JoinService, TakesTheOnlyServiceForABareAddress) {
  ReplicaTrack track;
  const Target bare = *parse_target("http://127.0.0.1:8080");

  EXPECT_TRUE(
      join_service(R"({"services":[{"name":"a","url":"http://a.localhost"}]})", bare, track));
  EXPECT_FALSE(join_service(kServices, bare, track));
}

TEST(JoinStatus, TakesTheServiceWhateverTheTarget) {
  ReplicaTrack track;

  EXPECT_TRUE(join_status(R"({"namespace":"shop","name":"cart","mode":"panic","replicas":[
      {"id":"a","state":"ready"},{"id":"b","state":"starting"}]})",
                          track));

  EXPECT_TRUE(track.is_of("cart", "shop"));
  EXPECT_EQ(track.ready_now(), 1U);
  for (const char* text : {"", "[]", "{}", R"({"name":7})", R"({"items":[{"name":"a"}]})"}) {
    EXPECT_FALSE(join_status(text, track)) << text;
  }
}

TEST(JoinService, IgnoresOtherAnswers) {
  for (const char* text : {"", "hello", "{}", "[]", "[1]", "null", "[{\"name\":1,\"url\":2}]",
                           "{\"services\":7}", "[{\"url\":\"http://app.localhost:8080\"}]"}) {
    ReplicaTrack track;
    EXPECT_FALSE(join_service(text, kTarget, track)) << text;
  }
}

TEST(ApplyEvent, PlacesEventsOfItsServiceOnTheAxis) {
  ReplicaTrack track;
  track.join("app");
  track.begin();

  EXPECT_TRUE(
      apply_event("replica", R"({"service":"app","id":"a","state":"ready"})", 1s, {&track, 1}));
  EXPECT_TRUE(apply_event("decision", R"({"service":"app","mode":"panic"})", 1s, {&track, 1}));
  EXPECT_TRUE(apply_event("cold_start", R"({"service":"app","replica":"a","total_ms":63})", 1s,
                          {&track, 1}));
  EXPECT_TRUE(
      apply_event("replica", R"({"service":"app","id":"a","state":"draining"})", 3s, {&track, 1}));
  EXPECT_FALSE(
      apply_event("replica", R"({"service":"b","id":"b","state":"ready"})", 3s, {&track, 1}));
  EXPECT_FALSE(apply_event("cold_start", R"({"service":"app","total_ms":"x"})", 3s, {&track, 1}));
  EXPECT_FALSE(apply_event("replica", "nonsense", 3s, {&track, 1}));

  EXPECT_EQ(track.ready_max(), 1U);
  EXPECT_EQ(track.ready_now(), 0U);
  EXPECT_EQ(track.cold_start_times().max(), 63ms);
  EXPECT_EQ(track.panics().size(), 1U);
}

TEST(ApplyEvent, KeepsDecisionsThatChangeWhatIsWanted) {
  ReplicaTrack track;
  track.join("app", "shop");
  track.begin();
  const auto decide = [&track](const std::string& rest, Duration at) {
    const std::string text = R"({"namespace":"shop","service":"app",)" + rest + "}";
    return apply_event("decision", text, at, {&track, 1});
  };

  EXPECT_TRUE(decide(R"("mode":"stable","desired":1,"stable":0.5,"why":"one")", 1s));
  EXPECT_TRUE(decide(R"("mode":"stable","desired":1,"stable":0.6,"why":"same")", 2s));
  EXPECT_TRUE(decide(R"("mode":"panic","desired":4,"target":7,"panic":26.5,"why":"burst")", 3s));
  EXPECT_FALSE(apply_event("decision",
                           R"({"namespace":"b","service":"app","mode":"stable","desired":9})", 4s,
                           {&track, 1}));

  ASSERT_EQ(track.decisions().size(), 2U);
  EXPECT_EQ(track.decisions()[0].why, "one");
  EXPECT_EQ(track.decisions()[1].at, 3s);
  EXPECT_EQ(track.decisions()[1].from, 1);
  EXPECT_EQ(track.decisions()[1].to, 4);
  EXPECT_TRUE(track.decisions()[1].panic);
  EXPECT_EQ(track.scaling().now(Scaling::panic), 26.5);
  EXPECT_EQ(track.scaling().now(Scaling::desired), 4);
}

TEST(ApplyEvent, KeepsThePhasesOfAColdStart) {
  ReplicaTrack track;
  track.join("app");

  EXPECT_TRUE(apply_event(
      "cold_start",
      R"({"service":"app","total_ms":63,"phases_ms":{"start":57,"queue":1,"other":2,"ready":"x"}})",
      1s, {&track, 1}));

  ASSERT_EQ(track.cold_starts().size(), 1U);
  const std::vector<std::pair<std::string, double>> phases{{"queue", 1}, {"start", 57}};
  EXPECT_EQ(track.cold_starts()[0].phases_ms, phases);
}

TEST(ApplyEvent, TakesTheFiguresOfALiveRow) {
  ReplicaTrack track;
  track.join("app", "default");
  track.begin();

  EXPECT_TRUE(apply_event(
      "fleet",
      R"({"rows":[7,{"name":"app","namespace":"default","starting":2,"queued":12,"want":3,"stable":null},
                  {"name":"app","namespace":"b","queued":99}]})",
      1s, {&track, 1}));
  for (const char* text : {"{}", R"({"rows":7})", R"({"rows":[{"name":"other"}]})"}) {
    EXPECT_FALSE(apply_event("fleet", text, 2s, {&track, 1})) << text;
  }

  EXPECT_EQ(track.scaling().queued_max(), 12);
  EXPECT_EQ(track.scaling().now(Scaling::starting), 2);
  EXPECT_EQ(track.scaling().now(Scaling::desired), 3);
}

TEST(ApplyEvent, CountsReadyReplicasByRowsUntilAnEventOfAReplica) {
  ReplicaTrack track;
  track.join("app", "shop");
  track.begin();
  const auto row = [&track](int ready, Duration at) {
    const std::string text =
        R"({"rows":[{"namespace":"shop","name":"app","ready":)" + std::to_string(ready) + "}]}";
    return apply_event("fleet", text, at, {&track, 1});
  };

  EXPECT_TRUE(row(3, 1s));
  EXPECT_EQ(track.ready_now(), 3U);
  EXPECT_TRUE(row(1, 2s));
  EXPECT_EQ(track.ready_now(), 1U);
  EXPECT_EQ(track.ready_max(), 3U);
  EXPECT_TRUE(row(-1, 2s));
  EXPECT_TRUE(row(0, 3s));
  EXPECT_TRUE(
      apply_event("replica", R"({"service":"app","id":"a","state":"ready"})", 4s, {&track, 1}));
  EXPECT_TRUE(row(5, 5s));
  EXPECT_EQ(track.ready_now(), 1U);
}

class EngineWatchTest : public ::testing::Test {
 protected:
  // Runs a watch against `script` until `enough` holds after an event, or there is no engine.
  ReplicaTrack watch(std::function<Reply(std::string_view)> script, std::size_t enough,
                     Duration patience = 10s) {
    ScriptedServer server{loop_, std::move(script)};
    Target target = kTarget;
    target.port = server.port();
    EngineWatch watch{loop_, clock_, {target}, engine_beside(target, "127.0.0.1"), patience};
    const auto stop = [&] { watch.stop([&server] { server.stop(); }); };
    watch.on_change([&] {
      if (watch.tracks()[0].ready_now() == enough) stop();
    });
    watch.start([&] {
      watch.begin(clock_.now());
      if (!watch.tracks()[0].joined() || watch.tracks()[0].ready_now() == enough) stop();
    });
    loop_.run();
    return watch.tracks()[0];
  }

  boost::asio::io_context loop_{1};
  Clock clock_;
};

TEST_F(EngineWatchTest, FollowsTheStreamOfAnEngine) {
  std::string hosts;
  const ReplicaTrack track = watch(
      [&hosts](std::string_view head) {
        hosts += head.find("Host: localhost:") != std::string_view::npos ? "ok " : "bad ";
        if (head.find("/_sluice/api/v1/services") != std::string_view::npos) {
          return Reply{ScriptedServer::ok(kServices), {}};
        }
        return Reply{
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: replica\n"
            "data: {\"service\":\"app\",\"id\":\"app-00001-2\",\"state\":\"ready\"}\n\n",
            {}};
      },
      2);

  EXPECT_TRUE(track.joined());
  EXPECT_EQ(track.ready_now(), 2U);
  EXPECT_EQ(hosts, "ok ok ");
}

TEST_F(EngineWatchTest, FollowsTheEventsOfAnEngineWithoutLiveFigures) {
  std::string asked;
  const ReplicaTrack track = watch(
      [&asked](std::string_view head) {
        const std::string path{head.substr(0, head.find(" HTTP"))};
        asked += path.substr(path.find("/v1") + 3) + " ";
        if (path.find("/services") != std::string::npos) {
          return Reply{ScriptedServer::ok(kServices), {}};
        }
        if (path.find("/live") != std::string::npos) {
          return Reply{"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", {}};
        }
        return Reply{
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: replica\n"
            "data: {\"service\":\"app\",\"id\":\"app-00001-2\",\"state\":\"ready\"}\n\n",
            {}};
      },
      2);

  EXPECT_EQ(track.ready_now(), 2U);
  EXPECT_EQ(asked,
            "/services?limit=1000 /live?view=fleet&rows=/app "
            "/events?types=decision,replica,cold_start ");
}

TEST_F(EngineWatchTest, ReportsNothingWhereThereIsNoEngine) {
  const auto nothing = [](std::string_view) {
    return Reply{"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", {}};
  };

  EXPECT_FALSE(watch(nothing, 1).joined());
}

TEST_F(EngineWatchTest, GivesUpOnAServerThatNeverAnswers) {
  EXPECT_FALSE(watch([](std::string_view) { return Reply{}; }, 1, 5ms).joined());
}

TEST_F(EngineWatchTest, DropsTheServiceWhenTheStreamIsRefused) {
  const auto no_stream = [](std::string_view head) {
    if (head.find("/services") != std::string_view::npos) {
      return Reply{ScriptedServer::ok(kServices), {}};
    }
    return Reply{"", ScriptedServer::After::reset};
  };

  EXPECT_FALSE(watch(no_stream, 9).joined());
}

}  // namespace
}  // namespace sluice::loadgen
