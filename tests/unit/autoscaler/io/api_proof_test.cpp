// What the API gives to those who have shown more or less of who they are.

#include "tests/unit/autoscaler/io/api_stage.h"

#include <type_traits>

namespace sluice::autoscaler {
namespace {

TEST_F(ApiOnItsSocket, AllowsEachProofItsOwnRoutes) {
  serve();

  struct {
    const char* method;
    const char* target;
    int socket;
    int own_user;
    int none;
  } const cases[] = {
      {"GET", "/metrics", 200, 200, 200},
      {"GET", "/api/v1/services", 200, 200, 200},
      {"GET", "/api/v1/services/default/app", 200, 200, 200},
      {"GET", "/api/v1/services/default/app/explain", 200, 200, 200},
      {"GET", "/api/v1/services/default/app/history", 200, 200, 200},
      {"GET", "/api/v1/services/default/app/logs", 200, 200, 403},
      {"HEAD", "/api/v1/services/default/app/logs", 200, 200, 403},
      {"GET", "/api/v1/services/default/app/logs?tail=x", 400, 400, 403},
      {"GET", "/api/v1/services/default/missing/logs", 404, 404, 403},
      {"GET", "/api/v1/services/default/app/spec", 200, 200, 403},
      {"GET", "//api/v1//services/default/%61pp/spec/", 200, 200, 403},
      {"GET", "/api/v1/services/default/missing/spec", 404, 404, 403},
      {"POST", "/api/v1/services/default/app/wake", 202, 202, 202},
      {"PUT", "/api/v1/services", 200, 403, 403},
      {"PUT", "/api/v1/services?dry_run=1", 200, 403, 403},
      {"DELETE", "/api/v1/services/default/app", 200, 403, 403},
      {"POST", "/api/v1/sessions", 422, 403, 403},
      {"POST", "/api/v1/placement/check", 200, 403, 403},
      {"GET", "/api/v1/placement/check", 405, 405, 405},
      {"GET", "/api/v1/sessions", 405, 405, 405},
      {"GET", "/api/v1/shutdown", 405, 405, 405},
  };

  const auto check = [&](auto expected) {
    for (const auto& one : cases) {
      EXPECT_EQ(ask(one.method, one.target)->status(), one.*expected)
          << one.method << " " << one.target;
    }
  };
  using Case = std::remove_cvref_t<decltype(cases[0])>;
  check(&Case::socket);
  show(Proof::own_user);
  check(&Case::own_user);
  EXPECT_EQ(ask("POST", "/api/v1/shutdown")->status(), 403);
  show(Proof::none);
  check(&Case::none);
  EXPECT_EQ(ask("POST", "/api/v1/shutdown")->status(), 403);
  EXPECT_FALSE(engine_.shutdown_done);
}

TEST_F(ApiOnItsSocket, OthersThanTheSocketDivideTrafficButClaimNoHostAndWriteNoFile) {
  serve();
  const std::string target = "/api/v1/services/default/app/traffic";
  const std::string percents = R"({"percents":[{"revision":"app-00001","percent":100}]})";
  const std::string tags = R"({"percents":[],"tags":[{"revision":"app-00001","tag":"old"}]})";
  for (const Proof proof : {Proof::own_user, Proof::none}) {
    show(proof);
    EXPECT_EQ(ask("POST", target, percents)->status(), 200);
    EXPECT_EQ(ask("POST", target + "?write=1", percents)->status(), 403);
    EXPECT_EQ(ask("POST", target, tags)->status(), 403);
    EXPECT_EQ(ask("POST", target, R"({"untags":["old"]})")->status(), 403);
  }
}

TEST_F(ApiOnItsSocket, ShowsValuesOfTheEnvironmentOverTheSocketOnly) {
  serve();
  const std::string target = "/api/v1/services/default/app/spec";
  EXPECT_TRUE(ask("GET", target)->has("values"));
  show(Proof::own_user);
  EXPECT_TRUE(ask("GET", target)->has("kind: Service"));
  EXPECT_FALSE(ask("GET", target)->has("values"));
}

TEST_F(ApiOnItsSocket, ShowsCallersToTheEnginesUserOnly) {
  serve();
  const std::string target = "/api/v1/services/default/app/explain";
  EXPECT_TRUE(ask("GET", target)->has("10.1.2.3"));
  show(Proof::own_user);
  EXPECT_TRUE(ask("GET", target)->has("10.1.2.3"));
  show(Proof::none);
  EXPECT_FALSE(ask("GET", target)->has("10.1.2.3"));
}

TEST_F(ApiOnItsSocket, AStreamForOthersCarriesNoOutputOfReplicas) {
  serve();
  show(Proof::none);
  engine_.ring.publish({{"type", "log"}, {"service", "app"}, {"text", "secret 1"}});
  engine_.ring.publish({{"type", "warning"}, {"message", "secret 2"}});
  engine_.ring.publish({{"type", "replica"}, {"id", "app-00001-1"}, {"stderr_tail", {"secret 3"}}});
  const auto others = open("/api/v1/events", "Last-Event-ID: 0\r\n");
  ASSERT_TRUE(until([&] { return others->has("id: 3\n"); }));
  EXPECT_FALSE(others->has("secret"));
  EXPECT_TRUE(others->has("app-00001-1"));
  show(Proof::own_user);
  const auto own = open("/api/v1/events", "Last-Event-ID: 0\r\n");
  ASSERT_TRUE(until([&] { return own->has("id: 3\n"); }));
  EXPECT_TRUE(own->has("secret 1") && own->has("secret 2") && own->has("secret 3"));
}

TEST_F(ApiOnItsSocket, ShowsTheReasonOfAFailedStartToTheEnginesUserOnly) {
  serve();
  engine_.told["failing"] = true;
  engine_.told["why"] = "cannot start /srv/secret: Permission denied";
  engine_.told["not_ready"] =
      nlohmann::json::array({{{"revision", "app-00001"}, {"why", "secret"}}});
  engine_.ring.publish({{"type", "service"}, {"failing", true}, {"why", "secret"}});
  engine_.ring.publish({{"type", "replica"}, {"why", "secret"}, {"stderr_tail", {""}}});
  engine_.ring.publish({{"type", "replica"}, {"why", "kept"}});
  const auto told = [this] {
    std::string text;
    for (const auto& [method, target] : std::vector<std::pair<const char*, const char*>>{
             {"GET", "/api/v1/services"},
             {"GET", "/api/v1/services/default/app"},
             {"POST", "/api/v1/services/default/app/wake"},
             {"POST", "/api/v1/services/default/app/sleep"}}) {
      text += ask(method, target)->received;
    }
    text += ask("POST", "/api/v1/services/default/app/scale", R"({"max":4})")->received;
    const auto stream = open("/api/v1/events", "Last-Event-ID: 0\r\n");
    EXPECT_TRUE(until([&] { return stream->has("id: 3\n"); }));
    return text + stream->received;
  };
  EXPECT_NE(told().find("/srv/secret"), std::string::npos);
  show(Proof::none);
  const std::string others = told();
  EXPECT_EQ(others.find("secret"), std::string::npos) << others;
  EXPECT_NE(others.find("replicas fail to start"), std::string::npos);
  EXPECT_NE(others.find("kept"), std::string::npos);
}

TEST_F(ApiOnItsSocket, OtherUsersTakeNoConnectionOfTheEnginesUser) {
  serve({.connections_max = 1});
  const std::filesystem::path socket = path_;
  show(Proof::none);
  const auto held = open("/api/v1/events");
  EXPECT_EQ(ask("GET", "/livez")->status(), 503);
  path_ = socket;
  EXPECT_EQ(ask("GET", "/livez")->status(), 200);
}

TEST_F(ApiOnItsSocket, ABodyFromTheFrontDoorIsSmall) {
  serve();
  const std::string target = "/api/v1/services/default/app/scale";
  const std::string body = R"({"max":4)" + std::string(100'000, ' ') + "}";
  EXPECT_EQ(ask("POST", target, body)->status(), 202);
  for (const Proof proof : {Proof::own_user, Proof::none}) {
    show(proof);
    auto peer = connect();
    peer->send("POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n");
    ASSERT_TRUE(until([&] { return peer->ended; }));
    EXPECT_EQ(peer->status(), 413);
    EXPECT_EQ(ask("POST", target, R"({"max":4})")->status(), 202);
  }
}

TEST_F(ApiOnItsSocket, EveryAnswerCarriesTheFieldsOfTheDoor) {
  serve({.connections_max = 1});
  const auto check = [](const Peer& peer, const std::string& what) {
    for (const DoorField& field : door_fields()) {
      const std::string line = std::string{field.name} + ": " + std::string{field.value} + "\r\n";
      EXPECT_TRUE(peer.has(line)) << what << " " << line;
    }
  };
  for (const char* target : {"/livez", "/metrics", "/nothing", "/api/v1/services"}) {
    check(*ask("GET", target), target);
  }
  check(*ask("DELETE", "/metrics"), "405");
  check(*ask("GET", "/livez", "", "X: " + std::string(20'000, 'x') + "\r\n"), "431");
  const auto stream = open("/api/v1/events");
  check(*stream, "stream");
  check(*ask("GET", "/livez"), "503");
}

}  // namespace
}  // namespace sluice::autoscaler
