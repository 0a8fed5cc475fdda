// An agent gets its certificate from an autoscaler that is played: a server with TLS that answers
// every caller.

#include "memory-pressure/io/enrolment.h"

#include "common/certificates/enrolment_text.h"
#include "common/files/file_io.h"
#include "common/loop/asio_loop.h"
#include "common/net/server/own_gateway.h"
#include "common/net/server/proxy_server.h"
#include "common/net/server/side_limits.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::node_agent {
namespace {

using certificates::LeafSpec;
using certificates::Set;
using rpc::testing::run_until;
using rpc::testing::TestFolder;

const LeafSpec kServer{.common_name = "autoscaler", .dns = {"localhost"}};

// What the autoscaler does, but for asking whose token it is.
class PlayedAutoscaler final : public net::OwnGateway {
 public:
  PlayedAutoscaler(boost::asio::io_context& io, const Clock& clock, const Set& set)
      : OwnGateway{"autoscaler"}, clock_{clock}, server_{io, clock, *this, net::side_limits()} {
    serve_with(set);
    port = server_.listen({.host = "127.0.0.1", .port = 0, .path = {}}, tls_.get())->port;
  }

  void serve_with(const Set& set) {
    signs_ = set;
    if (tls_) {
      ASSERT_TRUE(tls_->replace(set.pair()));
    } else {
      auto made = net::TlsContext::make({}, set.pair());
      tls_ = std::move(*made);
    }
  }

  void begin(net::Exchange& exchange) override {
    const auto request = certificates::read_enroll_request(exchange.request());
    if (!request) return exchange.respond(http::plain_response(request.error().status, {}));
    tokens.push_back(request->token);
    asked_at.push_back(clock_.now());
    if (refuses) {
      http::OwnResponse answer = http::plain_response(429, "not now\n");
      answer.retry_after_s = std::exchange(refuses, 0);
      return exchange.respond(answer);
    }
    exchange.respond(http::plain_response(
        200, certificates::sign(signs_, request->public_key,
                                {.common_name = "agent", .uris = {"sluice://node-agent/n1"}}, life,
                                clock_.now())
                 ->certificate));
  }

  std::uint16_t port = 0;
  Duration life = std::chrono::hours{24};
  int refuses = 0;  // the next request, for so many seconds
  std::vector<std::string> tokens;
  std::vector<TimePoint> asked_at;

 private:
  const Clock& clock_;
  Set signs_;
  std::unique_ptr<net::TlsContext> tls_;
  net::ProxyServer server_;
};

class EnrolmentTest : public ::testing::Test {
 protected:
  EnrolmentTest() {
    mounted.write("token", "first\n");
    mounted.write("ca.crt", set.bundle());
  }

  [[nodiscard]] std::string file(const std::string& name) const {
    return (*files::read_file(own.path() + "/" + name)).value_or("");
  }

  Enrolment::Options options() const {
    return {.address = "localhost:" + std::to_string(autoscaler.port),
            .tls_dir = own.path(),
            .token_file = mounted.path() + "/token",
            .ca_file = mounted.path() + "/ca.crt",
            .look = std::chrono::milliseconds{20}};
  }

  boost::asio::io_context io{1};
  Clock clock;
  AsioLoop loop{io, clock};
  log::Logger log{"test", log::Severity::error};
  Set set = *certificates::take_step({}, certificates::Step::make_all, kServer, clock.now());
  TestFolder mounted;
  TestFolder own;
  PlayedAutoscaler autoscaler{io, clock, set};
  int readies = 0;
};

// The port is known once the server is bound.
class Enrolled : public EnrolmentTest {
 protected:
  Enrolment agent{io, loop, log, options(), [this] { ++readies; }};
};

TEST_F(Enrolled, TheDirectoryHoldsACompletePairForTheNode) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const LeafSpec mine{.common_name = "agent", .uris = {"sluice://node-agent/n1"}};
  Set held = set;
  held.leaf = file("tls.crt");
  held.leaf_key = file("tls.key");
  EXPECT_TRUE(certificates::state_of(held, mine).leaf);
  EXPECT_EQ(file("ca.crt"), set.bundle());
  EXPECT_EQ(autoscaler.tokens, std::vector<std::string>{"first"});
  const auto modes = std::filesystem::status(own.path() + "/tls.key").permissions();
  EXPECT_EQ(modes & std::filesystem::perms{0077}, std::filesystem::perms::none);
  agent.stop();
}

TEST_F(Enrolled, ATokenThatIsRefusedIsReadAgainForTheNextAttempt) {
  autoscaler.refuses = 1;
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return autoscaler.tokens.size() == 1; }));
  mounted.write("token", "second");
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  EXPECT_EQ(autoscaler.tokens, (std::vector<std::string>{"first", "second"}));
  EXPECT_GE(autoscaler.asked_at.back() - autoscaler.asked_at.front(), std::chrono::seconds{1})
      << "what Retry-After said";
  agent.stop();
}

TEST_F(Enrolled, FilesThatAreNotThereYetAreWaitedFor) {
  std::filesystem::remove(mounted.path() + "/ca.crt");
  agent.start();
  EXPECT_EQ(readies, 0);
  mounted.write("ca.crt", set.bundle());
  EXPECT_TRUE(run_until(io, [this] { return readies == 1; }));
  agent.stop();
}

TEST_F(Enrolled, ACertificateOfWhichTwoThirdsAreOverIsReplacedByOneForTheSameKey) {
  // Two thirds of what begins five minutes ago and ends in one are over.
  autoscaler.life = std::chrono::minutes{1};
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return autoscaler.tokens.size() >= 2; }));
  EXPECT_EQ(readies, 1);
  agent.stop();
}

TEST_F(Enrolled, ANewBundleOfCasIsFollowed) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const Set next =
      *certificates::take_step(set, certificates::Step::renew_ca, kServer, clock.now());
  mounted.write("ca.crt", next.bundle());
  EXPECT_TRUE(run_until(io, [&] { return file("ca.crt") == next.bundle(); }));
  agent.stop();
}

TEST_F(Enrolled, ACertificateOfACaThatIsNoLongerTrustedIsReplacedAtOnce) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const Set next = *certificates::take_step({}, certificates::Step::make_all, kServer, clock.now());
  autoscaler.serve_with(next);
  mounted.write("ca.crt", next.bundle());
  ASSERT_TRUE(run_until(io, [this] { return autoscaler.tokens.size() == 2; }));
  EXPECT_TRUE(run_until(
      io, [&] { return certificates::is_signed_by_one_of(file("tls.crt"), next.bundle()); }));
  agent.stop();
}

TEST_F(Enrolled, ACertificateOfThePreviousCaStaysWhileThatIsTrusted) {
  agent.start();
  ASSERT_TRUE(run_until(io, [this] { return readies == 1; }));
  const std::string kept = file("tls.crt");
  const Set next =
      *certificates::take_step(set, certificates::Step::renew_ca, kServer, clock.now());
  mounted.write("ca.crt", next.bundle());
  ASSERT_TRUE(run_until(io, [&] { return file("ca.crt") == next.bundle(); }));
  EXPECT_EQ(file("tls.crt"), kept);
  EXPECT_EQ(autoscaler.tokens.size(), 1U);
  agent.stop();
}

TEST_F(Enrolled, AnAutoscalerOfAnotherCaIsSentNoToken) {
  autoscaler.serve_with(
      *certificates::take_step({}, certificates::Step::make_all, kServer, clock.now()));
  agent.start();
  boost::asio::steady_timer enough{io, std::chrono::milliseconds{500}};
  bool over = false;
  enough.async_wait([&over](auto) { over = true; });
  ASSERT_TRUE(run_until(io, [&over] { return over; }));
  EXPECT_TRUE(autoscaler.tokens.empty());
  EXPECT_EQ(readies, 0);
  autoscaler.serve_with(set);
  EXPECT_TRUE(run_until(io, [this] { return readies == 1; }));
  agent.stop();
}

TEST(HostAndPort, AreSplitOrRefused) {
  const auto shown = [](std::string_view text) {
    const auto parts = net::host_and_port(text);
    return parts ? parts->host + " " + parts->port : std::string{"none"};
  };
  EXPECT_EQ(shown("autoscaler.a.svc:8083"), "autoscaler.a.svc 8083");
  EXPECT_EQ(shown("[fd00::1]:8083"), "fd00::1 8083");
  for (const char* wrong :
       {"", "a", ":1", "a:", "a:0", "a:65536", "a:1x", "a b:1", "[]:1", "/a:1"}) {
    EXPECT_EQ(shown(wrong), "none") << wrong;
  }
}

TEST(Renewal, IsDueAfterTwoThirdsOfTheValidity) {
  const TimePoint from{std::chrono::hours{1}};
  EXPECT_EQ(renewal_of({.from = from, .until = from + std::chrono::hours{24}}),
            from + std::chrono::hours{16});
}

}  // namespace
}  // namespace sluice::node_agent
