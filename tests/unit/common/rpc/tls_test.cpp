#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <filesystem>

namespace sluice::rpc {
namespace {

using net::testing::TlsAuthority;
using net::testing::TlsClient;
using net::testing::TlsOffer;
using testing::ClientStage;
using testing::kMethod;
using testing::run_until;
using testing::ServerStage;
using testing::TestFolder;

void fill(const TestFolder& folder, const TlsAuthority& authority, const net::TlsPair& pair) {
  folder.write("ca.crt", authority.pem());
  folder.write("tls.key", pair.key);
  folder.write("tls.crt", pair.certificate);
}

class RpcTls : public ::testing::Test {
 protected:
  RpcTls() {
    fill(server_folder, authority, authority.issue("DNS:autoscaler"));
    fill(client_folder, authority, authority.issue("DNS:activator"));
    server.emplace(io,
                   ServerOptions{.address = {}, .methods = {}, .tls_dir = server_folder.path()});
  }

  ClientOptions options() const {
    return {.target = server->address(),
            .method = {},
            .tls_dir = client_folder.path(),
            .tls_name = "autoscaler"};
  }

  // Whether a client that shows no certificate gets through its part of the handshake.
  [[nodiscard]] bool shakes(net::TlsVersion max) {
    const int fd = net::testing::connected_to({"127.0.0.1", server->port(), {}});
    TlsOffer offer;
    offer.protocols = "\x02h2";
    offer.max = max;
    TlsClient peer{fd, offer};
    bool done = false;
    (void)run_until(io, [&] {
      boost::asio::post(io, [] {});
      done = peer.shake();
      return done || peer.failed();
    });
    return done;
  }

  TlsAuthority authority{"cluster"};
  TestFolder server_folder;
  TestFolder client_folder;
  boost::asio::io_context io{1};
  std::optional<ServerStage> server;
};

TEST_F(RpcTls, BothSidesShowACertificateOfTheAuthority) {
  ClientStage client{io, options()};

  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));

  client.client().write("secret");
  ASSERT_TRUE(run_until(io, [&] { return server->calls.back()->messages.size() == 1; }));
}

TEST_F(RpcTls, AClientOfAnotherAuthorityIsRefused) {
  const TlsAuthority stranger{"elsewhere"};
  client_folder.write("tls.key", "");
  const net::TlsPair pair = stranger.issue("DNS:activator");
  fill(client_folder, authority, pair);
  ClientStage client{io, options()};

  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 2; }));

  EXPECT_EQ(client.connected, 0);
  EXPECT_TRUE(server->calls.empty());
}

TEST_F(RpcTls, AClientWithoutTlsIsRefused) {
  ClientStage client{io, {.target = server->address(), .method = {}}};

  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 2; }));

  EXPECT_EQ(client.connected, 0);
  EXPECT_TRUE(server->calls.empty());
}

TEST_F(RpcTls, AServerOfAnotherNameIsRefused) {
  ClientOptions other = options();
  other.tls_name = "another";
  ClientStage client{io, other};

  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 2; }));

  EXPECT_EQ(client.connected, 0);
}

TEST_F(RpcTls, NothingBelowVersion13IsSpoken) {
  EXPECT_TRUE(shakes(net::TlsVersion::v1_3));
  EXPECT_FALSE(shakes(net::TlsVersion::v1_2));
}

// Goal: certificates are renewed without a restart, on both sides.
// Method: a client that the server cannot trust yet keeps trying while the server's files change.
TEST_F(RpcTls, ChangedFilesAreReadAgain) {
  const TlsAuthority next{"renewed"};
  fill(client_folder, next, next.issue("DNS:activator"));
  ClientStage client{io, options()};
  ASSERT_TRUE(run_until(io, [&] { return client.closed.size() == 1; }));
  EXPECT_EQ(client.connected, 0);

  fill(server_folder, next, next.issue("DNS:autoscaler"));

  ASSERT_TRUE(run_until(io, [&] { return client.connected == 1; }));
}

TEST_F(RpcTls, AMissingFileIsNamed) {
  std::filesystem::remove(client_folder.path() + "/tls.key");
  Server second{io, [](std::unique_ptr<Call>) {}};

  const auto client = Client::make(io, options(), {});
  const auto bound = second.open(
      {.address = "127.0.0.1:0", .methods = {kMethod}, .tls_dir = client_folder.path()});

  ASSERT_FALSE(client.has_value());
  EXPECT_NE(client.error().what.find("tls.key"), std::string::npos);
  ASSERT_FALSE(bound.has_value());
  EXPECT_NE(bound.error().what.find("tls.key"), std::string::npos);
}

}  // namespace
}  // namespace sluice::rpc
