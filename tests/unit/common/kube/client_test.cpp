#include "common/kube/client.h"

#include "tests/unit/common/files/scratch_directory.h"
#include "tests/unit/common/kube/fake_api.h"
#include "tests/unit/common/net/tls_peer.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeApi;
using testing::json_reply;
using testing::Reply;
using testing::run_until;
using testing::Seen;

constexpr std::string_view kThrottled = "Retry-After: 1\r\n";

class KubeClient : public ::testing::Test {
 protected:
  void serve(FakeApi::Script script) {
    api_ = std::make_unique<FakeApi>(io_, std::move(script));
    access_.address = api_->address();
    access_.server_name = "127.0.0.1";
    access_.tls = false;
  }

  void connect(ClientOptions options = {}) {
    auto made = Client::make(io_, clock_, log_, access_, options);
    ASSERT_TRUE(made.has_value()) << made.error().text();
    client_ = std::move(*made);
  }

  // Sends, and notes what came of it under `name`.
  Client::Call send(const std::string& name, Request request) {
    return client_->send(std::move(request), [this, name](const Answer& answer) {
      told_.push_back(name + ": " + (answer.has_value() ? *answer : answer.error().text()));
      if (!answer.has_value()) failure_ = answer.error();
    });
  }

  [[nodiscard]] bool told(std::size_t count) {
    return run_until(io_, [&] { return told_.size() >= count; });
  }

  std::unique_ptr<net::TlsContext> tls_;  // of the server; outlives its sessions
  boost::asio::io_context io_;
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  Access access_;
  std::unique_ptr<FakeApi> api_;
  std::unique_ptr<Client> client_;
  std::vector<std::string> told_;
  Failure failure_;
};

TEST_F(KubeClient, DeliversTheBodyOfAnAnswerAndKeepsTheConnection) {
  serve([](const Seen& seen) { return json_reply("{\"path\":\"" + seen.target + "\"}"); });
  access_.token = "secret";
  connect();

  const auto first = send("a", {.path = "/api/v1/pods"});
  EXPECT_TRUE(first.active());
  ASSERT_TRUE(told(1));
  const auto second = send("b", {.path = "/version"});
  ASSERT_TRUE(told(2));

  EXPECT_EQ(told_, (std::vector<std::string>{"a: {\"path\":\"/api/v1/pods\"}",
                                             "b: {\"path\":\"/version\"}"}));
  EXPECT_FALSE(first.active());
  EXPECT_EQ(api_->connections(), 1U);
  EXPECT_EQ(api_->seen().front().authorization, "Bearer secret");
  EXPECT_TRUE(api_->seen().front().user_agent.starts_with("sluice/"));
  EXPECT_EQ(client_->counts().requests, 2U);
  EXPECT_EQ(client_->counts().writes, 0U);
}

TEST_F(KubeClient, SendsEachVerbAsTheApiExpectsIt) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect({.connections_max = 1});
  std::vector<Client::Call> calls;
  const auto verb = [&](Verb name) {
    calls.push_back(send("", {.verb = name, .path = "/a?b=1", .body = "{\"x\":1}"}));
  };

  for (const Verb each : {Verb::create, Verb::replace, Verb::merge_patch, Verb::json_patch,
                          Verb::apply, Verb::apply_force, Verb::remove}) {
    verb(each);
  }
  ASSERT_TRUE(told(7));

  std::vector<std::string> lines;
  for (const Seen& seen : api_->seen()) {
    lines.push_back(seen.method + " " + seen.target + " " + seen.content_type + " " + seen.body);
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "POST /a?b=1 application/json {\"x\":1}", "PUT /a?b=1 application/json {\"x\":1}",
                "PATCH /a?b=1 application/merge-patch+json {\"x\":1}",
                "PATCH /a?b=1 application/json-patch+json {\"x\":1}",
                "PATCH /a?b=1&fieldManager=sluice application/apply-patch+yaml {\"x\":1}",
                "PATCH /a?b=1&fieldManager=sluice&force=true application/apply-patch+yaml "
                "{\"x\":1}",
                "DELETE /a?b=1 application/json {\"x\":1}"}));
  EXPECT_EQ(client_->counts().writes, 7U);
}

TEST_F(KubeClient, ReportsARefusalWithTheServersMessage) {
  serve([](const Seen&) {
    return json_reply(R"({"kind":"Status","reason":"Conflict","message":"it changed","code":409})",
                      409);
  });
  connect();

  const auto call = send("a", {.verb = Verb::replace, .path = "/a", .body = "{}"});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::refused);
  EXPECT_EQ(failure_.status, 409);
  EXPECT_EQ(failure_.reason, "Conflict");
  EXPECT_EQ(failure_.text(), "the API server answered 409 Conflict: it changed");
}

TEST_F(KubeClient, Waits429OutWhileOtherLanesContinue) {
  int refused = 0;
  serve([&](const Seen& seen) {
    if (seen.target == "/slow" && refused++ == 0) {
      return json_reply("Too many requests", 429, kThrottled);
    }
    return json_reply("{}");
  });
  connect({.connections_max = 1});

  const auto slow = send("slow", {.path = "/slow"});
  ASSERT_TRUE(run_until(io_, [&] { return client_->counts().throttled == 1; }));
  const auto behind = send("behind", {.path = "/behind"});
  const auto urgent = send("urgent", {.path = "/urgent", .lane = Lane::urgent});
  ASSERT_TRUE(told(3));

  EXPECT_EQ(told_, (std::vector<std::string>{"urgent: {}", "slow: {}", "behind: {}"}));
}

TEST_F(KubeClient, GivesUpA429WhenTheTimeIsOver) {
  serve([](const Seen&) { return json_reply("{}", 429, "Retry-After: 30\r\n"); });
  connect();

  const auto call = send("a", {.path = "/a", .timeout = milliseconds{50}});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::timed_out);
  EXPECT_EQ(api_->seen().size(), 1U);
}

TEST_F(KubeClient, SendsOnlyTheNewestRequestForAnObject) {
  serve([](const Seen& seen) { return json_reply("{\"at\":\"" + seen.target + "\"}"); });
  connect({.burst = 1});
  std::vector<Client::Call> calls;

  calls.push_back(send("first", {.path = "/1"}));  // takes the only token
  calls.push_back(send("old", {.path = "/2", .object = "x"}));
  calls.push_back(send("between", {.path = "/3"}));
  calls.push_back(send("new", {.path = "/4", .object = "x"}));
  ASSERT_TRUE(told(4));

  EXPECT_EQ(told_.front(), "old: replaced by a newer request for the same object");
  EXPECT_EQ(api_->count("GET", "/2"), 0U);
  ASSERT_EQ(api_->seen().size(), 3U);
  EXPECT_EQ(api_->seen()[1].target, "/4");  // instead of the older
}

TEST_F(KubeClient, SendsUrgentRequestsOfALaneFirstAndInTheirOrder) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect({.burst = 1, .connections_max = 1});
  std::vector<Client::Call> calls;

  calls.push_back(send("sent", {.path = "/sent"}));  // takes the only token
  calls.push_back(send("shrinks", {.path = "/shrinks", .object = "x"}));
  calls.push_back(send("grows", {.path = "/grows", .first = true}));
  calls.push_back(send("grows too", {.path = "/grows-too", .first = true}));
  calls.push_back(send("turned", {.path = "/turned", .first = true, .object = "x"}));
  ASSERT_TRUE(told(5));

  EXPECT_EQ(told_,
            (std::vector<std::string>{"shrinks: replaced by a newer request for the same object",
                                      "sent: {}", "grows: {}", "grows too: {}", "turned: {}"}));
}

TEST_F(KubeClient, RefusesRequestsBeyondItsQueueLimit) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect({.burst = 1, .waiting_max = 1});
  std::vector<Client::Call> calls;

  for (const char* const name : {"a", "b", "c"}) calls.push_back(send(name, {.path = "/"}));
  ASSERT_TRUE(told(1));

  EXPECT_TRUE(told_.front().starts_with("c: ")) << told_.front();
  EXPECT_EQ(failure_.kind, Failure::Kind::timed_out);
}

TEST_F(KubeClient, TheTimeOfARequestBeginsWhenItIsSent) {
  // A second of writes, half of which would be late if waiting counted.
  constexpr std::size_t kWrites = 100;
  serve([](const Seen&) { return json_reply("{}"); });
  connect({.per_second = 100, .burst = 1});
  std::vector<Client::Call> calls;

  for (std::size_t i = 0; i < kWrites; ++i) {
    calls.push_back(send("a", {.verb = Verb::merge_patch,
                               .path = "/" + std::to_string(i),
                               .body = "{}",
                               .timeout = milliseconds{500}}));
  }
  EXPECT_TRUE(calls.back().waiting());
  ASSERT_TRUE(told(kWrites));

  EXPECT_EQ(told_, std::vector<std::string>(kWrites, "a: {}"));
  EXPECT_EQ(client_->counts().failures, 0U);
  EXPECT_FALSE(calls.back().waiting());
}

TEST_F(KubeClient, WaitsNoLongerForItsTurnThanItsLimit) {
  serve([](const Seen&) { return json_reply("{}", 429, "Retry-After: 30\r\n"); });
  connect();

  const auto first = send("first", {.path = "/a"});
  ASSERT_TRUE(run_until(io_, [&] { return client_->counts().throttled == 1; }));
  const auto call = send("late", {.path = "/b", .queue_limit = milliseconds{50}});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(told_.front(),
            "late: the API server did not answer in time: it timed out in the queue before it was "
            "sent");
  EXPECT_EQ(failure_.kind, Failure::Kind::timed_out);
  EXPECT_EQ(api_->count("GET", "/b"), 0U);
}

TEST_F(KubeClient, ARequestOfALeaseIsNotSentOnceItIsLate) {
  serve([](const Seen&) { return json_reply("{}", 429, "Retry-After: 30\r\n"); });
  connect();

  const auto first = send("first", {.path = "/a", .lane = Lane::free});
  ASSERT_TRUE(run_until(io_, [&] { return client_->counts().throttled == 1; }));
  const auto call = send("late", {.path = "/b", .lane = Lane::free, .timeout = milliseconds{50}});
  ASSERT_TRUE(told(1));

  EXPECT_TRUE(told_.front().starts_with("late: "));
  EXPECT_EQ(api_->count("GET", "/b"), 0U);
}

TEST_F(KubeClient, MakesNoCallbackOnceTheCallIsDestroyed) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect();

  { const auto dropped = send("dropped", {.path = "/a"}); }
  const auto kept = send("kept", {.path = "/b"});
  ASSERT_TRUE(told(1));
  ASSERT_TRUE(run_until(io_, [&] { return api_->seen().size() == 2; }));
  io_.poll();

  EXPECT_EQ(told_, (std::vector<std::string>{"kept: {}"}));
}

TEST_F(KubeClient, MakesNoCallbackOnceItIsDestroyed) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect();

  const auto call = send("a", {.path = "/a"});
  client_.reset();
  io_.poll();

  EXPECT_TRUE(told_.empty());
  EXPECT_FALSE(call.active());
}

TEST_F(KubeClient, RepeatsOnANewConnectionARequestThatAnIdleOneLost) {
  serve([&](const Seen& seen) {
    // The second request of a connection gets no answer.
    const bool again = seen.target == "/b" && seen.connection == 0;
    return again ? Reply{.close = true} : json_reply("{}");
  });
  connect();

  const auto first = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));
  const auto second = send("b", {.verb = Verb::merge_patch, .path = "/b", .body = "{}"});
  ASSERT_TRUE(told(2));

  EXPECT_EQ(told_.back(), "b: {}");
  EXPECT_EQ(api_->connections(), 2U);
}

TEST_F(KubeClient, DoesNotRepeatACreationThatMayHaveTakenEffect) {
  serve([&](const Seen& seen) {
    return seen.method == "POST" ? Reply{.close = true} : json_reply("{}");
  });
  connect();

  const auto first = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));
  const auto second = send("b", {.verb = Verb::create, .path = "/b", .body = "{}"});
  ASSERT_TRUE(told(2));

  EXPECT_EQ(failure_.kind, Failure::Kind::unreachable);
  EXPECT_EQ(api_->count("POST", "/b"), 1U);
}

TEST_F(KubeClient, ReportsAMalformedAnswerAsGarbled) {
  std::vector<Reply> replies{
      {"\x16\x03\x01 what\r\n\r\n", true}, json_reply("<html>no</html>"), json_reply("")};
  std::size_t next = 0;
  serve([&](const Seen&) { return replies.at(next++); });
  connect();

  for (std::size_t i = 0; i < 3; ++i) {
    failure_ = {};
    const auto call = send("a", {.path = "/a"});
    ASSERT_TRUE(told(i + 1));
    EXPECT_EQ(failure_.kind, Failure::Kind::garbled) << i << ": " << failure_.text();
  }
}

TEST_F(KubeClient, RefusesAnAnswerBeyondItsLimit) {
  serve([](const Seen&) { return json_reply("{" + std::string(5000, ' ') + "}"); });
  connect({.body_max = 1000});

  const auto call = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::garbled);
}

TEST_F(KubeClient, EndsARequestWhoseHeadComesTooSlowly) {
  serve([](const Seen&) { return Reply{"HTTP/1.1 200 O"}; });
  connect();

  const auto call = send("a", {.path = "/a", .timeout = milliseconds{50}});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::timed_out);
}

TEST_F(KubeClient, SendsNoPathThatCouldBreakOut) {
  serve([](const Seen&) { return json_reply("{}"); });
  connect();

  const auto call = send("a", {.path = "/a\r\nHost: b"});
  ASSERT_TRUE(told(1));

  EXPECT_TRUE(api_->seen().empty());
}

TEST_F(KubeClient, ReadsAReplacedTokenAtOnceAfterA401) {
  const files::ScratchDirectory scratch;
  access_.token_file = scratch.path() / "token";
  std::ofstream{access_.token_file} << "old\n";
  serve([&](const Seen& seen) {
    return seen.authorization == "Bearer new" ? json_reply("{}") : json_reply("{}", 401);
  });
  connect();

  const auto first = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));
  EXPECT_EQ(failure_.status, 401);
  std::ofstream{access_.token_file} << "new\n";
  const auto second = send("b", {.path = "/b"});
  ASSERT_TRUE(told(2));

  EXPECT_EQ(told_.back(), "b: {}");
}

TEST_F(KubeClient, StreamsPieceByPieceAndReportsTheEnd) {
  serve([](const Seen&) { return testing::watch_reply("one"); });
  connect();
  std::string heard;
  const auto stream = client_->stream(
      "/watch", seconds{10},
      {.head = [&](int status, std::string_view) { heard += std::to_string(status) + " "; },
       .body = [&](std::string_view piece) { heard += std::string{piece} + " "; },
       .ended = [&](const std::string& why) { heard += "end" + why; }});

  ASSERT_TRUE(run_until(io_, [&] { return heard.ends_with("one "); }));
  api_->push(0, testing::chunk("two"));
  ASSERT_TRUE(run_until(io_, [&] { return heard.ends_with("two "); }));
  api_->push(0, testing::chunk(""));
  ASSERT_TRUE(run_until(io_, [&] { return heard.ends_with("end"); }));

  EXPECT_EQ(heard, "200 one two end");
  EXPECT_FALSE(stream.active());
}

TEST_F(KubeClient, EndsAStreamOnWhichNothingComes) {
  serve([](const Seen&) { return testing::watch_reply(); });
  connect();
  std::string ended;

  const auto stream = client_->stream(
      "/watch", milliseconds{30},
      {.head = {}, .body = {}, .ended = [&](std::string why) { ended = std::move(why); }});

  ASSERT_TRUE(run_until(io_, [&] { return !ended.empty(); }));
  EXPECT_EQ(ended, "no data arrived for too long");
}

class KubeClientTls : public KubeClient {
 protected:
  // A server whose certificate carries `names`.
  void serve_tls(const std::string& names) {
    auto made = net::TlsContext::make({.protocols = {"http/1.1"}}, authority_.issue(names));
    ASSERT_TRUE(made.has_value());
    tls_ = std::move(*made);
    api_ = std::make_unique<FakeApi>(
        io_, [](const Seen&) { return json_reply("{}"); }, tls_.get());
    access_.address = api_->address();
    access_.server_name = "127.0.0.1";
    access_.ca = authority_.pem();
  }

  net::testing::TlsAuthority authority_{"test"};
};

TEST_F(KubeClientTls, AcceptsACertificateForTheIp) {
  serve_tls("IP:127.0.0.1");
  connect();

  const auto first = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));
  const auto second = send("b", {.path = "/b"});
  ASSERT_TRUE(told(2));

  EXPECT_EQ(told_, (std::vector<std::string>{"a: {}", "b: {}"}));
  EXPECT_EQ(api_->connections(), 1U);
}

TEST_F(KubeClientTls, AcceptsACertificateForTheName) {
  serve_tls("DNS:kubernetes.default.svc");
  access_.server_name = "kubernetes.default.svc";
  connect();

  const auto call = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(told_.back(), "a: {}");
}

TEST_F(KubeClientTls, RefusesACertificateForAnother) {
  serve_tls("IP:127.0.0.2,DNS:other");
  connect();

  const auto call = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::unreachable);
  EXPECT_TRUE(api_->seen().empty());
}

TEST_F(KubeClientTls, RefusesACertificateOfAnotherAuthority) {
  serve_tls("IP:127.0.0.1");
  const net::testing::TlsAuthority other{"other"};
  access_.ca = other.pem();
  connect();

  const auto call = send("a", {.path = "/a"});
  ASSERT_TRUE(told(1));

  EXPECT_EQ(failure_.kind, Failure::Kind::unreachable);
}

TEST_F(KubeClientTls, IsNotMadeOfPartsThatAreNotPem) {
  for (std::string Access::*part :
       {&Access::ca, &Access::client_certificate, &Access::client_key}) {
    Access access;
    access.address = {.host = "127.0.0.1", .port = 1, .path = {}};
    access.server_name = "127.0.0.1";
    access.ca = authority_.pem();
    access.*part = "nonsense";

    EXPECT_FALSE(Client::make(io_, clock_, log_, access).has_value());
  }
}

}  // namespace
}  // namespace sluice::kube
