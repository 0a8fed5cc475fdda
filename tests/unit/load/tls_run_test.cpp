#include "common/net/tls/tls_settings.h"
#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/load/scripted_server.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "load/io/load_run.h"

namespace sluice::loadgen {
namespace {

using net::ClientTls;
using net::ClientTlsSettings;
using net::testing::TlsAuthority;

// Goal: requests over TLS, and what becomes of them when the certificate is not right.
class TlsRunTest : public ::testing::Test {
 protected:
  // A server at app.localhost with a certificate of `authority_` for `names`, called as `settings`
  // say.
  Tally run(const std::string& names, const ClientTlsSettings& settings, std::uint64_t count = 20,
            std::function<ScriptedServer::Reply(std::string_view)> script = hello) {
    auto context = net::TlsContext::make(settings_of_server(), authority_.issue(names));
    EXPECT_TRUE(context);
    ScriptedServer server{loop_, std::move(script), context->get()};
    auto client = ClientTls::make(settings);
    EXPECT_TRUE(client);
    LoadPlan plan;
    plan.loop = Loop::closed;
    plan.connections = 2;
    plan.count = count;
    plan.duration.reset();
    plan.targets[0].target =
        *parse_target("https://app.localhost:" + std::to_string(server.port()));
    LoadRun load{loop_, clock_, plan, {"127.0.0.1"}, {}, client->get()};
    load.start([&server] { server.stop(); });
    loop_.run();
    loop_.restart();
    first_error_ = load.error_samples().first();
    return load.results().whole;
  }

  // It speaks nothing else.
  static net::TlsSettings settings_of_server() {
    net::TlsSettings settings;
    settings.protocols = {"http/1.1"};
    return settings;
  }

  static ScriptedServer::Reply hello(std::string_view) { return {ScriptedServer::ok("hello"), {}}; }

  boost::asio::io_context loop_{1};
  Clock clock_;
  TlsAuthority authority_{"load tests"};
  std::string first_error_;
};

TEST_F(TlsRunTest, RequestsAreAnsweredByAServerThatProvesItsName) {
  const Tally tally = run("DNS:app.localhost", {.ca = authority_.pem()});

  EXPECT_EQ(tally.ended(Ending::answered), 20U) << first_error_;
  EXPECT_EQ(tally.bytes(), 100U);
  EXPECT_EQ(tally.connecting().count(), 2U);
}

TEST_F(TlsRunTest, AnAnswerOfManyRecordsArrivesWhole) {
  const std::string large(300'000, 'x');

  const Tally tally = run("DNS:app.localhost", {.ca = authority_.pem()}, 3,
                          [&large](std::string_view) -> ScriptedServer::Reply {
                            return {ScriptedServer::ok(large), {}};
                          });

  EXPECT_EQ(tally.ended(Ending::answered), 3U) << first_error_;
  EXPECT_EQ(tally.bytes(), 900'000U);
}

TEST_F(TlsRunTest, ACertificateForAnotherNameIsAnErrorOfTls) {
  const Tally tally = run("DNS:other.localhost", {.ca = authority_.pem()}, 1);

  EXPECT_EQ(tally.ended(Ending::tls), 1U);
  EXPECT_EQ(tally.errors(), 1U);
  EXPECT_NE(first_error_.find("the certificate does not match the requested name"),
            std::string::npos)
      << first_error_;
}

TEST_F(TlsRunTest, ACertificateOfAnUnknownAuthorityIsRefused) {
  const TlsAuthority other{"another authority"};

  const Tally tally = run("DNS:app.localhost", {.ca = other.pem()}, 1);

  EXPECT_EQ(tally.ended(Ending::tls), 1U);
  EXPECT_NE(first_error_.find("TLS with app.localhost at 127.0.0.1:"), std::string::npos)
      << first_error_;
  EXPECT_NE(first_error_.find("the certificate is rejected"), std::string::npos) << first_error_;
}

TEST_F(TlsRunTest, WithoutVerificationAnyCertificateWillDo) {
  const Tally tally = run("DNS:other.localhost", {.verify = false});

  EXPECT_EQ(tally.ended(Ending::answered), 20U) << first_error_;
}

TEST_F(TlsRunTest, AServerWithoutTlsAnswersNothing) {
  ScriptedServer server{loop_, hello};
  auto client = ClientTls::make({.verify = false});
  LoadPlan plan;
  plan.loop = Loop::closed;
  plan.connections = 1;
  plan.count = 1;
  plan.duration.reset();
  plan.timeout = std::chrono::seconds{5};
  plan.targets[0].target = *parse_target("https://127.0.0.1:" + std::to_string(server.port()));
  LoadRun load{loop_, clock_, plan, {"127.0.0.1"}, {}, client->get()};
  load.start([&server] { server.stop(); });
  loop_.run();

  EXPECT_EQ(load.results().whole.ended(Ending::answered), 0U);
  EXPECT_EQ(load.results().whole.errors(), 1U);
}

}  // namespace
}  // namespace sluice::loadgen
