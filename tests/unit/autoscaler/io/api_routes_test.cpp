// The API over its real socket: the server, and the routes behind it.

#include "common/values/rfc3339.h"
#include "tests/unit/autoscaler/io/api_stage.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>

#include <sys/stat.h>

namespace sluice::autoscaler {
namespace {

struct Case {
  const char* method;
  const char* target;
  const char* body;
  int status;
};

TEST_F(ApiOnItsSocket, AnswersEveryRouteWithItsStatus) {
  serve();
  const Case cases[] = {
      {"GET", "/livez", "", 200},
      {"GET", "/readyz", "", 200},
      {"GET", "/readyz?verbose", "", 200},
      {"GET", "/metrics", "", 200},
      {"GET", "/api/v1/version", "", 200},
      {"GET", "/api/v1/services", "", 200},
      {"HEAD", "/api/v1/services", "", 200},
      {"HEAD", "/api/v1/services/default/app", "", 200},
      {"GET", "/api/v1/services/default/app", "", 200},
      {"DELETE", "/api/v1/services/default/app", "", 200},
      {"GET", "/api/v1/services/default/app/spec", "", 200},
      {"PUT", "/api/v1/services", "good", 200},
      {"PUT", "/api/v1/services", "bad", 422},
      {"GET", "/api/v1/services/default/app/explain", "", 200},
      {"GET", "/api/v1/services/default/app/explain?at=5m", "", 200},
      {"GET", "/api/v1/services/default/app/explain?at=soon", "", 400},
      {"GET", "/api/v1/services/default/app/history", "", 200},
      {"GET", "/api/v1/services/default/app/history?since=10m", "", 200},
      {"GET", "/api/v1/services/default/app/history?since=x", "", 400},
      {"GET", "/api/v1/services/default/app/history?since=%zz", "", 400},
      {"GET", "/api/v1/services/default/%zz", "", 400},
      {"GET", "/api/v1/services/default/app/recording", "", 200},
      {"GET", "/api/v1/services/default/app/recording?since=15m", "", 200},
      {"GET", "/api/v1/services/default/app/recording?since=soon", "", 400},
      {"GET", "/api/v1/services/default/web/recording", "", 404},
      {"POST", "/api/v1/services/default/app/recording", "", 405},
      {"GET", "/api/v1/services/default/app/logs?tail=5", "", 200},
      {"GET", "/api/v1/services/default/app/logs?tail=10001", "", 400},
      {"GET", "/api/v1/services/default/app/logs?since=soon", "", 400},
      {"POST", "/api/v1/services/default/app/wake", "", 202},
      {"POST", "/api/v1/services/default/app/sleep", "", 202},
      {"POST", "/api/v1/services/default/app/scale", R"({"min":1,"max":4})", 202},
      {"POST", "/api/v1/services/default/app/scale", R"({"min":-1})", 422},
      {"POST", "/api/v1/services/default/app/scale", R"({"size":1})", 422},
      {"POST", "/api/v1/services/default/app/scale", "[", 422},
      {"GET", "/api/v1/services/default/app/revisions", "", 200},
      {"GET", "/api/v1/services/default/web/revisions", "", 404},
      {"POST", "/api/v1/services/default/app/revisions", "", 405},
      {"POST", "/api/v1/services/default/app/traffic", R"({"untags":["a"]})", 200},
      {"POST", "/api/v1/services/default/web/traffic", R"({"untags":["a"]})", 404},
      {"GET", "/api/v1/services/default/app/traffic", "", 405},
      {"GET", "/api/v1/services/default/missing", "", 404},
      {"POST", "/api/v1/services/default/missing/wake", "", 404},
      {"GET", "/api/v1/services/elsewhere/app", "", 404},
      {"GET", "/api/v1/services/default/app/nothing", "", 404},
      {"GET", "/api/v1/services/default/app/spec/deeper", "", 404},
      {"GET", "/", "", 200},
      {"GET", "/api/v2/services", "", 404},
      {"POST", "/api/v1/services", "", 405},
      {"GET", "/api/v1/shutdown", "", 405},
      {"GET", "/api/v1/services/default/app/wake", "", 405},
      {"POST", "/api/v1/services/default/app/logs", "", 405},
      {"PUT", "/api/v1/services/default/app/spec", "good", 405},
      {"DELETE", "/metrics", "", 405},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(ask(one.method, one.target, one.body)->status(), one.status)
        << one.method << " " << one.target << " " << one.body;
  }
}

TEST_F(ApiOnItsSocket, ReportsErrorsAsProblemJson) {
  serve();
  const auto missing = ask("GET", "/api/v1/services/default/missing");
  EXPECT_TRUE(missing->has("Content-Type: application/problem+json\r\n"));
  const json problem = json::parse(missing->body());
  EXPECT_EQ(problem["type"], "no-such-service");
  EXPECT_EQ(problem["title"], "No such service");
  EXPECT_EQ(problem["status"], 404);
  EXPECT_EQ(problem["detail"], "no service is named missing");
  EXPECT_EQ(problem["fix"], "services here: app");
  EXPECT_TRUE(ask("PATCH", "/api/v1/services/default/app")->has("Allow: GET, DELETE\r\n"));
}

TEST_F(ApiOnItsSocket, RefusesRequestsThatAreTooLargeOrNotHttp) {
  serve();
  auto body = connect();
  body->send("PUT /api/v1/services HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n");
  ASSERT_TRUE(until([&] { return body->ended; }));
  EXPECT_EQ(body->status(), 413);
  auto chunked = connect();
  chunked->send(
      "PUT /api/v1/services HTTP/1.1\r\nHost: x\r\n"
      "Transfer-Encoding: chunked\r\n\r\nffffff\r\n");
  ASSERT_TRUE(until([&] { return chunked->ended; }));
  EXPECT_EQ(chunked->status(), 413);
  EXPECT_EQ(ask("GET", "/livez", "", "X: " + std::string(20'000, 'x') + "\r\n")->status(), 431);
  EXPECT_EQ(ask("GET", "/" + std::string(5000, 'x'))->status(), 414);
  auto noise = connect();
  noise->send("\x16\x03\x01 hello\r\n\r\n");
  ASSERT_TRUE(until([&] { return noise->ended; }));
  EXPECT_EQ(noise->status(), 400);
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
  EXPECT_TRUE(engine_.calls.empty());
}

TEST_F(ApiOnItsSocket, GivesListsInPages) {
  engine_.count = 250;
  serve();
  json page = json::parse(ask("GET", "/api/v1/services")->body());
  EXPECT_EQ(page["items"].size(), 100U);
  ASSERT_TRUE(page.contains("next"));
  const std::string next = page["next"];
  page = json::parse(ask("GET", "/api/v1/services?limit=200&next=" + next)->body());
  EXPECT_EQ(page["items"].size(), 150U);
  EXPECT_EQ(page["items"][0]["name"], "app100");
  EXPECT_FALSE(page.contains("next"));
  page = json::parse(ask("GET", "/api/v1/services?next=999")->body());
  EXPECT_TRUE(page["items"].empty());
  for (const char* wrong : {"limit=0", "limit=1001", "limit=many", "next=-1"}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/services?") + wrong)->status(), 400) << wrong;
  }
}

// Goal: nothing waits for the end of a long answer. Method: turns so short that each has one part.
TEST_F(ApiOnItsSocket, OtherRequestsAreAnsweredWhileALongAnswerIsMade) {
  engine_.count = 1000;
  serve({.turn = Duration{-1}});
  const auto asking = connect();
  asking->send("GET /api/v1/services?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(until([&] { return engine_.statuses > 0; }));
  const auto other = ask("GET", "/api/v1/version");
  EXPECT_EQ(other->status(), 200);
  EXPECT_LT(engine_.statuses, 500);
  EXPECT_TRUE(asking->received.empty());
  ASSERT_TRUE(until([&] { return asking->has("]}\n"); }));
  EXPECT_EQ(json::parse(asking->body())["items"].size(), 1000U);
}

TEST_F(ApiOnItsSocket, WhatFitsATurnIsMadeInOne) {
  engine_.count = 1000;
  serve({.turn = std::chrono::hours{1}});
  const auto asking = connect();
  asking->send("GET /api/v1/services?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(until([&] { return engine_.statuses > 0; }));
  EXPECT_EQ(engine_.statuses, 1000);
}

TEST_F(ApiOnItsSocket, GivesTheHistoryInPages) {
  engine_.decided = 250;
  serve();
  const std::string path = "/api/v1/services/default/app/history";
  json page = json::parse(ask("GET", path)->body());
  EXPECT_EQ(page["items"].size(), 100U);
  EXPECT_EQ(page["items"][0]["n"], 0);
  page = json::parse(ask("GET", path + "?next=" + page["next"].get<std::string>())->body());
  EXPECT_EQ(page["items"][0]["n"], 100);
  page = json::parse(ask("GET", path + "?limit=200&next=200")->body());
  EXPECT_EQ(page["items"].size(), 50U);
  EXPECT_FALSE(page.contains("next"));
  EXPECT_TRUE(json::parse(ask("GET", path + "?next=999")->body())["items"].empty());
  EXPECT_EQ(ask("GET", path + "?limit=0")->status(), 400);
}

TEST_F(ApiOnItsSocket, PassesParametersToTheEngine) {
  serve();
  ask("GET", "/api/v1/services/default/app/logs?tail=7&replica=app%2D00001-1&previous=1");
  EXPECT_EQ(engine_.asked_logs.tail, 7U);
  EXPECT_EQ(engine_.asked_logs.replica, "app-00001-1");
  EXPECT_TRUE(engine_.asked_logs.previous);
  EXPECT_FALSE(engine_.asked_logs.times);
  EXPECT_FALSE(engine_.asked_logs.since);
  ask("GET", "/api/v1/services/default/app/logs?times=1&since=2026-11-20T14:03:12Z");
  EXPECT_TRUE(engine_.asked_logs.times);
  EXPECT_EQ(engine_.asked_logs.since, parse_rfc3339("2026-11-20T14:03:12Z"));
  ask("POST", "/api/v1/services/default/app/scale", R"({"max":4})");
  EXPECT_FALSE(engine_.asked_bounds.min);
  EXPECT_EQ(engine_.asked_bounds.max, 4);
  ask("GET", "/api/v1/services/default/app/explain?at=2026-11-20T14:03:12Z");
  ASSERT_TRUE(engine_.explained_at);
  EXPECT_GT(*engine_.explained_at, *parse_rfc3339("2026-11-20T14:03:12.999Z"));
  engine_.is_ready = false;
  EXPECT_EQ(ask("GET", "/readyz")->status(), 503);
}

TEST_F(ApiOnItsSocket, AppliesDocumentsAsAsked) {
  serve();
  ask("PUT", "/api/v1/services?dry_run=1", "good");
  ask("PUT", "/api/v1/services?write=1", "good");
  const auto applied = ask("PUT", "/api/v1/services", "good");
  EXPECT_EQ(engine_.calls, (std::vector<std::string>{"plan good", "write good", "apply good"}));
  EXPECT_EQ(json::parse(applied->body())["items"][0]["result"], "configured");
}

TEST_F(ApiOnItsSocket, AnswersPipelinedRequestsInOrderOnOneConnection) {
  serve();
  auto peer = connect();
  peer->send(
      "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nHEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
      "GET /api/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(until([&] { return peer->ended; }));
  EXPECT_LT(peer->received.find("ok\n"), peer->received.find("{\"version\""));
  EXPECT_FALSE(peer->has("up 1"));
}

TEST_F(ApiOnItsSocket, StreamsTheRequestedEvents) {
  serve();
  publish("decision", 1);
  const auto peer = open("/api/v1/events?types=decision,log");
  EXPECT_TRUE(peer->has("Content-Type: text/event-stream\r\n"));
  ASSERT_TRUE(until([&] { return peer->has(": sluice events"); }));
  publish("replica", 2);
  publish("decision", 3);
  publish("log", 4);
  ASSERT_TRUE(until([&] { return peer->has("id: 4\n"); }));
  EXPECT_TRUE(peer->has("id: 3\nevent: decision\ndata: {\"n\":3,"));
  EXPECT_FALSE(peer->has("id: 1\n"));
  EXPECT_FALSE(peer->has("id: 2\n"));
}

TEST_F(ApiOnItsSocket, RefusesATypeOfEventsThatDoesNotExist) {
  serve();
  const auto refused = ask("GET", "/api/v1/events?types=decision,decisions");
  EXPECT_EQ(refused->status(), 400);
  EXPECT_TRUE(refused->has("types is not accepted: decisions"));
  EXPECT_TRUE(refused->has("give some of engine service replica decision "));
}

TEST_F(ApiOnItsSocket, ResumesAStreamAndReportsMissedEvents) {
  serve();
  for (int i = 1; i <= 6; ++i) publish("log", i);
  const auto near = open("/api/v1/events", "Last-Event-ID: 4\r\n");
  ASSERT_TRUE(until([&] { return near->has("id: 6\n"); }));
  EXPECT_TRUE(near->has("id: 5\n"));
  EXPECT_FALSE(near->has("id: 4\n"));
  EXPECT_FALSE(near->has("missed"));
  const auto far = open("/api/v1/events", "Last-Event-ID: 1\r\n");
  ASSERT_TRUE(until([&] { return far->has("id: 6\n"); }));
  EXPECT_TRUE(far->has(": missed 1 events"));
  EXPECT_EQ(ask("GET", "/api/v1/events", "", "Last-Event-ID: x\r\n")->status(), 400);
}

TEST_F(ApiOnItsSocket, AReaderThatIsFarBehindGetsAllInPieces) {
  serve();
  const std::string large(100'000, 'x');
  for (int i = 1; i <= 4; ++i) {
    engine_.ring.publish({{"type", "log"}, {"service", "app"}, {"text", large}});
  }
  const auto peer = open("/api/v1/events", "Last-Event-ID: 0\r\n");
  ASSERT_TRUE(until([&] { return peer->has("id: 4\n"); }));
  for (const char* id : {"id: 1\n", "id: 2\n", "id: 3\n"}) EXPECT_TRUE(peer->has(id)) << id;
  EXPECT_FALSE(peer->has("missed"));
}

TEST_F(ApiOnItsSocket, AQuietStreamSendsHeartbeatsAndASilentPeerIsClosed) {
  serve({.idle = milliseconds{20}, .heartbeat = milliseconds{5}});
  const auto stream = open("/api/v1/events");
  const auto silent = connect();
  EXPECT_TRUE(until([&] { return silent->ended; }));
  EXPECT_TRUE(until([&] { return stream->has(": still here\n"); }));
  EXPECT_FALSE(stream->ended);
}

TEST_F(ApiOnItsSocket, FollowsTheOutputOfOneService) {
  serve();
  const auto peer = open("/api/v1/services/default/app/logs?follow=1");
  ASSERT_TRUE(until([&] { return peer->has("app-00001-1 | before\n"); }));
  engine_.ring.publish({{"type", "log"}, {"service", "b"}, {"replica", "b-1"}, {"text", "no"}});
  engine_.ring.publish(
      {{"type", "log"}, {"service", "app"}, {"replica", "app-00001-1"}, {"text", "more"}});
  ASSERT_TRUE(until([&] { return peer->has("app-00001-1 | more\n"); }));
  EXPECT_FALSE(peer->has("no\n"));
}

TEST_F(ApiOnItsSocket, ShowsTimeAndStartOfEachLineWhenAsked) {
  serve();
  const auto peer = open("/api/v1/services/default/app/logs?follow=1&times=1");
  ASSERT_TRUE(until([&] { return peer->has(" | before\n"); }));
  engine_.ring.publish({{"type", "log"},
                        {"time", "2026-11-20T14:03:12.061Z"},
                        {"service", "app"},
                        {"replica", "app-00001-1"},
                        {"start", 3},
                        {"text", "more\a"}});
  EXPECT_TRUE(until([&] { return peer->has("2026-11-20T14:03:12.061Z app-00001-1#3 | more?\n"); }));
}

TEST_F(ApiOnItsSocket, NamesWhatIsMissingInTheHistory) {
  serve();
  const auto page = [&] {
    return json::parse(ask("GET", "/api/v1/services/default/app/history")->body());
  };
  EXPECT_FALSE(page().contains("not_kept"));
  engine_.lost = json::array({{{"reason", "no space left on device"}}});
  EXPECT_EQ(page()["not_kept"], engine_.lost);
  EXPECT_EQ(page()["items"].size(), 1U);
}

TEST_F(ApiOnItsSocket, AStreamEndsWhenItsPeerDisconnects) {
  serve();
  const auto peer = open("/api/v1/events");
  EXPECT_EQ(server_->connections(), 1U);
  peer->leave();
  EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
  publish("log", 1);
}

TEST_F(ApiOnItsSocket, ASessionShowsItsServicesUntilItsPeerDisconnects) {
  serve();
  const std::string body = R"({"spec":"x"})";
  const auto peer = connect();
  peer->send("POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(until([&] { return peer->has("{\"engine\":\"fake\"}\n"); }));
  EXPECT_EQ(engine_.session.use_count(), 2);
  engine_.ring.publish({{"type", "log"}, {"service", "b"}, {"text", "no"}});
  engine_.ring.publish({{"type", "log"}, {"service", "app"}, {"text", "more"}});
  engine_.ring.publish({{"type", "engine"}, {"event", "stopping"}});
  ASSERT_TRUE(until([&] { return peer->has("stopping"); }));
  EXPECT_TRUE(peer->has("more") && !peer->has("no\""));
  peer->leave();
  EXPECT_TRUE(until([&] { return engine_.session.use_count() == 1; }));
}

TEST_F(ApiOnItsSocket, ADetachedSessionIsAnsweredAtOnce) {
  serve();
  const auto peer = ask("POST", "/api/v1/sessions", R"({"spec":"x","detach":true})");
  EXPECT_EQ(peer->status(), 200);
  EXPECT_EQ(peer->body(), "{\"engine\":\"fake\"}\n");
  EXPECT_EQ(engine_.session.use_count(), 1);
}

TEST_F(ApiOnItsSocket, RefusesConnectionsBeyondItsLimit) {
  serve({.connections_max = 2});
  const auto first = open("/api/v1/events");
  const auto second = open("/api/v1/events");
  const auto third = connect();
  ASSERT_TRUE(until([&] { return third->ended; }));
  EXPECT_EQ(third->status(), 503);
  EXPECT_EQ(json::parse(third->body())["type"], "too-many-connections");
  first->leave();
  ASSERT_TRUE(until([&] { return server_->connections() == 1; }));
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
}

TEST_F(ApiOnItsSocket, AnIdleConnectionGivesItsPlaceToTheNext) {
  serve({.connections_max = 2});
  const auto first = connect();
  first->send("GET /livez HTTP/1.1\r\n");
  const auto second = connect();
  ASSERT_TRUE(until([&] { return server_->connections() == 2; }));
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
  EXPECT_TRUE(until([&] { return first->ended; }));
  EXPECT_FALSE(second->ended);
}

TEST_F(ApiOnItsSocket, StreamsLeaveRoomForOtherRequests) {
  serve({.connections_max = 2, .streams_max = 1});
  const auto stream = open("/api/v1/events");
  ASSERT_TRUE(until([&] { return stream->has(": sluice events"); }));
  const auto refused = ask("GET", "/api/v1/events");
  EXPECT_EQ(refused->status(), 503);
  EXPECT_EQ(json::parse(refused->body())["type"], "too-many-streams");
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
}

TEST_F(ApiOnItsSocket, ServesTcpAsWell) {
  serve();
  const auto bound = server_->listen({.host = "127.0.0.1", .port = 0, .path = {}}, Proof::none);
  ASSERT_TRUE(bound);
  boost::asio::ip::tcp::socket client{loop_};
  client.connect({boost::asio::ip::make_address("127.0.0.1"), bound->port});
  boost::asio::write(client, boost::asio::buffer(std::string{"GET /livez HTTP/1.1\r\n\r\n"}));
  std::array<char, 12> begin{};
  bool read = false;
  boost::asio::async_read(client, boost::asio::buffer(begin),
                          [&read](error_code failed, std::size_t) { read = !failed; });
  ASSERT_TRUE(until([&] { return read; }));
  EXPECT_EQ(std::string(begin.data(), begin.size()), "HTTP/1.1 200");
}

TEST_F(ApiOnItsSocket, AnswersAShutdownWithItsResult) {
  serve();
  const auto peer = connect();
  peer->send(
      "POST /api/v1/shutdown HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
      "0\r\n\r\n");
  ASSERT_TRUE(until([&] { return static_cast<bool>(engine_.shutdown_done); }));
  EXPECT_TRUE(peer->received.empty());
  engine_.shutdown_done({.stopped = 3, .cut = 1});
  ASSERT_TRUE(until([&] { return peer->ended; }));
  EXPECT_EQ(peer->status(), 200);
  EXPECT_EQ(json::parse(peer->body()), (json{{"stopped", 3}, {"cut", 1}}));
}

TEST_F(ApiOnItsSocket, KeepsAConnectionWhoseAnswerCameLater) {
  serve();
  const std::string request =
      "POST /api/v1/shutdown HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  const auto peer = connect();
  // The second is there before the first is answered.
  peer->send(request + "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(until([&] { return static_cast<bool>(engine_.shutdown_done); }));
  std::exchange(engine_.shutdown_done, nullptr)({.stopped = 3, .cut = 1});
  ASSERT_TRUE(until([&] { return peer->received.ends_with("ok\n"); })) << peer->received;
  EXPECT_FALSE(peer->has("Connection: close"));
  peer->send(request);
  ASSERT_TRUE(until([&] { return static_cast<bool>(engine_.shutdown_done); }));
  peer->leave();
  EXPECT_TRUE(until([&] { return server_->connections() == 0; }));
}

TEST_F(ApiOnItsSocket, AShutdownContinuesWhenItsClientDisconnects) {
  serve();
  auto peer = connect();
  peer->send("POST /api/v1/shutdown HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(until([&] { return static_cast<bool>(engine_.shutdown_done); }));
  peer->leave();
  ASSERT_TRUE(until([&] { return server_->connections() == 0; }));
  engine_.shutdown_done({.stopped = 3, .cut = 1});
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
}

TEST_F(ApiOnItsSocket, EndsStreamsWholeWhenItStops) {
  serve();
  const auto stream = open("/api/v1/events");
  const auto waiting = connect();
  ASSERT_TRUE(until([&] { return server_->connections() == 2; }));
  server_->stop();
  ASSERT_TRUE(until([&] { return stream->ended && waiting->ended; }));
  EXPECT_TRUE(stream->received.ends_with("0\r\n\r\n"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ApiOnItsSocket, MayBeDestroyedWhileStreamsAreOpen) {
  serve();
  const auto stream = open("/api/v1/events");
  const auto waiting = connect();
  ASSERT_TRUE(until([&] { return server_->connections() == 2; }));
  server_.reset();
  EXPECT_TRUE(until([&] { return stream->ended && waiting->ended; }));
  publish("log", 1);
}

TEST_F(ApiOnItsSocket, IsForItsOwnerOnlyAndReplacesAStaleSocket) {
  serve();

  struct stat facts {};

  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  ApiServer next(loop_, routes_);
  const auto taken = next.listen(address(), Proof::socket);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().text().find("in use"), std::string::npos);
  path_ = directory_.path() / "dead.sock";
  { boost::asio::local::stream_protocol::acceptor dead{loop_, {path_.string()}}; }
  ASSERT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(next.listen(address(), Proof::socket));
  path_ = directory_.path() / "missing" / "api.sock";
  const auto lost = next.listen(address(), Proof::socket);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().text().find("missing"), std::string::npos);
}

}  // namespace
}  // namespace sluice::autoscaler
