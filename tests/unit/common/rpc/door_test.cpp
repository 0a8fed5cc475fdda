// Who comes through the door of a server with mutual TLS: by role, without a certificate, and in
// plain text.

#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::rpc {
namespace {

using net::testing::TlsAuthority;
using testing::ClientStage;
using testing::kMethod;
using testing::run_until;
using testing::TestFolder;

constexpr const char* kOther = "/test.Stream/Other";

class RpcDoor : public ::testing::Test {
 protected:
  RpcDoor() {
    fill(server_folder, "DNS:autoscaler,URI:sluice://autoscaler");
    fill(client_folder, "URI:sluice://activator");
  }

  void fill(const TestFolder& folder, const std::string& names) const {
    const net::TlsPair pair = authority.issue(names);
    folder.write("ca.crt", authority.pem());
    folder.write("tls.key", pair.key);
    folder.write("tls.crt", pair.certificate);
  }

  void open(ServerOptions options) {
    options.address = "127.0.0.1:0";
    options.methods = {kMethod, kOther};
    const auto bound = server.open(options);
    ASSERT_TRUE(bound.has_value()) << bound.error().text();
    address = bound->text();
  }

  void open_tls(Caller wanted) {
    open({.address = {},
          .methods = {},
          .tls_dir = server_folder.path(),
          .callers = {{kMethod, wanted}, {kOther, wanted}}});
  }

  // How the first attempt ended; absent: the call was taken.
  std::optional<Ending> dial(const std::string& tls_dir, const std::string& method = kMethod) {
    ClientStage client{
        io,
        {.target = address, .method = method, .tls_dir = tls_dir, .tls_name = tls_name(tls_dir)}};
    const auto before = calls.size();
    EXPECT_TRUE(run_until(io, [&] { return !client.closed.empty() || calls.size() > before; }));
    if (client.closed.empty()) return std::nullopt;
    return client.closed.front().ending;
  }

  static std::string tls_name(const std::string& tls_dir) {
    return tls_dir.empty() ? "" : "autoscaler";
  }

  TlsAuthority authority{"cluster"};
  TestFolder server_folder;
  TestFolder client_folder;
  boost::asio::io_context io{1};
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<Refused> turned;
  Server server{io,
                [this](std::unique_ptr<Call> call) {
                  call->start({});
                  calls.push_back(std::move(call));
                },
                [this](const std::string& peer, const Refused& refused) {
                  const bool known = refused.why != Refusal::handshake;
                  EXPECT_TRUE(!known || peer.starts_with("ipv4:127.0.0.1")) << peer;
                  turned.push_back(refused);
                }};
  std::string address;
};

TEST_F(RpcDoor, TellsWhoACallerIs) {
  open_tls(Caller::activator);
  EXPECT_FALSE(dial(client_folder.path()));
  EXPECT_TRUE(calls.front()->caller().identity.activator);
  EXPECT_TRUE(turned.empty());
}

TEST_F(RpcDoor, RefusesAnotherRole) {
  open_tls(Caller::node_agent);
  const auto ending = dial(client_folder.path());
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code, Code::permission_denied);
  ASSERT_TRUE(run_until(io, [this] { return !turned.empty(); }));
  EXPECT_EQ(turned.front().why, Refusal::wrong_role);
  EXPECT_TRUE(calls.empty());
}

TEST_F(RpcDoor, RefusesACallerWithoutACertificateUnlessTheMethodNeedsNone) {
  open({.address = {},
        .methods = {},
        .tls_dir = server_folder.path(),
        .callers = {{kMethod, Caller::anyone}, {kOther, Caller::activator}}});
  const auto call = [this](const char* method) {
    ClientStage client{io,
                       {.target = address,
                        .method = method,
                        .tls_name = "autoscaler",
                        .ca_file = server_folder.path() + "/ca.crt"}};
    EXPECT_TRUE(run_until(io, [&] { return client.connected > 0 || !client.closed.empty(); }));
    return client.closed.empty() ? Ending{} : client.closed.front().ending;
  };
  EXPECT_EQ(call(kMethod).code, Code::ok);
  EXPECT_EQ(call(kOther).code, Code::unauthenticated);
}

TEST_F(RpcDoor, SaysWhyAHandshakeFailed) {
  open_tls(Caller::activator);
  const TlsAuthority stranger{"elsewhere"};
  const net::TlsPair pair = stranger.issue("URI:sluice://activator");
  client_folder.write("tls.key", pair.key);
  client_folder.write("tls.crt", pair.certificate);
  ClientStage client{
      io, {.target = address, .tls_dir = client_folder.path(), .tls_name = "autoscaler"}};
  ASSERT_TRUE(run_until(io, [this] { return !turned.empty(); }));
  EXPECT_EQ(turned.front().why, Refusal::handshake);
  EXPECT_NE(turned.front().ending.text.find("certificate verify failed"), std::string::npos)
      << turned.front().ending.text;
  EXPECT_NE(turned.front().ending.text.find("SLUICE_TLS_DIR"), std::string::npos);
  EXPECT_TRUE(calls.empty());
}

TEST_F(RpcDoor, RefusesPlainTextAndSaysWhichSettingIsMissing) {
  open_tls(Caller::activator);
  const auto ending = dial("");
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code, Code::unavailable);
  EXPECT_NE(ending->text.find("SLUICE_TLS_DIR"), std::string::npos) << ending->text;
  ASSERT_FALSE(turned.empty());
  EXPECT_EQ(turned.front().why, Refusal::plain_text);
}

TEST_F(RpcDoor, RefusesTlsWherePlainTextIsSpokenAndSaysSo) {
  open({.address = {}, .methods = {}});
  const auto ending = dial(client_folder.path());
  ASSERT_TRUE(ending);
  EXPECT_NE(ending->text.find("SLUICE_TLS_DIR"), std::string::npos) << ending->text;
  ASSERT_FALSE(turned.empty());
  EXPECT_EQ(turned.front().why, Refusal::unexpected_tls);
}

// An upgrade: those of the release before speak plain text, and only what they need is served.
TEST_F(RpcDoor, LetsInPlainTextByAddressForTheMethodsThatWereNamed) {
  std::vector<std::string> asked;
  bool let_in = true;
  open({.address = {},
        .methods = {},
        .tls_dir = server_folder.path(),
        .callers = {{kMethod, Caller::activator}, {kOther, Caller::autoscaler}},
        .admit_plain =
            [&](const std::string& ip, const std::function<void(bool)>& answer) {
              asked.push_back(ip);
              answer(let_in);
            },
        .plain_methods = {kMethod}});
  EXPECT_FALSE(dial("")) << "by address";
  EXPECT_EQ(asked, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(dial("", kOther)->code, Code::unauthenticated) << "another method";
  EXPECT_FALSE(dial(client_folder.path())) << "with TLS on the same address";
  let_in = false;
  EXPECT_EQ(dial("")->code, Code::unavailable) << "another address";
}

}  // namespace
}  // namespace sluice::rpc
