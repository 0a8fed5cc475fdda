// Who comes through the door of a server with mutual TLS: by role, without a certificate, and in
// plain text; and what those hold up who do not come through.

#include "common/rpc/first_byte.h"
#include "common/rpc/handshake_log.h"
#include "common/rpc/uncalled.h"
#include "tests/unit/common/net/tls_peer.h"
#include "tests/unit/common/rpc/rpc_stage.h"

#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace sluice::rpc {
namespace {

using net::testing::TlsAuthority;
using testing::ClientStage;
using testing::kMethod;
using testing::run_until;
using testing::TestFolder;

constexpr const char* kOther = "/test.Stream/Other";

// The beginning of a handshake's first record, whose rest does not come.
const std::string kHalf{"\x16\x03\x01\x02\x00\x01", 6};

// Connections of strangers, which go with their owner.
class Sockets {
 public:
  Sockets() = default;
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  ~Sockets() {
    for (const int each : all_) ::close(each);
  }

  void add(int socket, const std::string& said) {
    all_.push_back(socket);
    ASSERT_EQ(::send(socket, said.data(), said.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(said.size()));
  }

  [[nodiscard]] bool ended(std::size_t which) const {
    char byte = 0;
    const ssize_t got = ::recv(all_.at(which), &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

 private:
  std::vector<int> all_;
};

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

  [[nodiscard]] int connected() const {
    return net::testing::connected_to(*net::parse_address(address));
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
                  EXPECT_TRUE(peer.starts_with("ipv4:127.0.0.1") || peer == "unknown") << peer;
                  turned.push_back(refused);
                }};
  std::string address;
};

TEST_F(RpcDoor, IdentifiesACaller) {
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

TEST_F(RpcDoor, EndsTheHandshakeOfAPeerWithoutACertificate) {
  std::signal(SIGPIPE, SIG_IGN);  // of what is said too late
  open_tls(Caller::certified);
  net::testing::TlsClient peer{connected(), {.protocols = "\x02h2"}};
  // It may finish its own part of the handshake; what it sends then is answered by the alert.
  (void)run_until(io, [&] {
    boost::asio::post(io, [] {});
    return peer.shake() || peer.failed();
  });
  (void)peer.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  ASSERT_TRUE(run_until(io, [&] { return !turned.empty(); }));
  peer.take();
  EXPECT_EQ(turned.front().why, Refusal::handshake);
  EXPECT_NE(turned.front().ending.text.find("certificate"), std::string::npos)
      << turned.front().ending.text;
  EXPECT_TRUE(peer.seen().empty());
}

// Half a handshake costs gRPC memory for ten seconds; silence costs us a socket for as long.
TEST_F(RpcDoor, EndsTheFirstOfTooManyUnfinishedHandshakesAndTakesACaller) {
  open_tls(Caller::activator);
  Sockets halves;
  for (std::size_t each = 0; each < Uncalled::kMax + 2; ++each) halves.add(connected(), kHalf);
  ASSERT_TRUE(run_until(io, [&] { return turned.size() == 2; }));
  EXPECT_EQ(turned.front().why, Refusal::handshake);
  ASSERT_TRUE(run_until(io, [&] { return halves.ended(0) && halves.ended(1); }));
  EXPECT_FALSE(halves.ended(2));
  EXPECT_FALSE(dial(client_folder.path())) << "the handshake of a caller";
}

TEST_F(RpcDoor, CountsNoCallerAmongUnfinishedHandshakes) {
  open_tls(Caller::activator);
  ClientStage first{io,
                    {.target = address,
                     .method = kMethod,
                     .tls_dir = client_folder.path(),
                     .tls_name = "autoscaler"}};
  ASSERT_TRUE(run_until(io, [&] { return first.connected == 1; }));
  Sockets halves;
  for (std::size_t each = 0; each < Uncalled::kMax + 2; ++each) halves.add(connected(), kHalf);
  ASSERT_TRUE(run_until(io, [&] { return halves.ended(1); }));
  EXPECT_TRUE(first.closed.empty());
}

TEST_F(RpcDoor, ClosesTheSilentConnectionThatHasWaitedLongestForOneMore) {
  open_tls(Caller::activator);
  Sockets silent;
  for (std::size_t each = 0; each < FirstByte::kWaitingMax + 1; ++each) silent.add(connected(), "");
  ASSERT_TRUE(run_until(io, [&] { return silent.ended(0); }));
  EXPECT_FALSE(silent.ended(1));
  EXPECT_FALSE(dial(client_folder.path())) << "a caller beside them";
  EXPECT_TRUE(silent.ended(1));
}

TEST_F(RpcDoor, ReportsWhyAHandshakeFailed) {
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

TEST_F(RpcDoor, RefusesPlainTextAndNamesTheMissingSetting) {
  open_tls(Caller::activator);
  const auto ending = dial("");
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->code, Code::unavailable);
  EXPECT_NE(ending->text.find("SLUICE_TLS_DIR"), std::string::npos) << ending->text;
  ASSERT_FALSE(turned.empty());
  EXPECT_EQ(turned.front().why, Refusal::plain_text);
}

TEST_F(RpcDoor, RefusesTlsAtAPlainDoorWithTheReason) {
  open({.address = {}, .methods = {}});
  const auto ending = dial(client_folder.path());
  ASSERT_TRUE(ending);
  EXPECT_NE(ending->text.find("SLUICE_TLS_DIR"), std::string::npos) << ending->text;
  ASSERT_FALSE(turned.empty());
  EXPECT_EQ(turned.front().why, Refusal::unexpected_tls);
}

// An upgrade: those of the release before speak plain text, and only what they need is served.
TEST_F(RpcDoor, AdmitsPlainTextByAddressForTheNamedMethods) {
  std::vector<std::string> asked;
  bool let_in = true;
  open({.address = {},
        .methods = {},
        .tls_dir = server_folder.path(),
        .callers = {{kMethod, Caller::activator}, {kOther, Caller::node_agent}},
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

TEST_F(RpcDoor, IgnoresALateAnswerOnceDestroyed) {
  std::function<void(bool)> late;
  std::optional<Server> door;
  door.emplace(io, [](std::unique_ptr<Call>) {});
  const auto bound =
      door->open({.address = "127.0.0.1:0",
                  .methods = {kMethod},
                  .tls_dir = server_folder.path(),
                  .admit_plain = [&](const std::string&, std::function<void(bool)> answer) {
                    late = answer;
                  }});
  address = bound->text();
  Sockets plain;
  plain.add(connected(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  ASSERT_TRUE(run_until(io, [&] { return late != nullptr; }));
  door.reset();
  late(true);
  late = nullptr;
  EXPECT_TRUE(run_until(io, [&] {
    boost::asio::post(io, [] {});
    return plain.ended(0);
  }));
}

// The preface of HTTP/2, and settings of which there are none.
const std::string kHello{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 33};

TEST_F(RpcDoor, EndsAConnectionWithoutACallAndNoneWithOne) {
  open({.address = {}, .methods = {}, .idle_limit = std::chrono::milliseconds{200}});
  ClientStage caller{io, {.target = address, .method = kMethod}};
  ASSERT_TRUE(run_until(io, [&] { return caller.connected == 1; }));
  const int socket = connected();
  Sockets idle;
  idle.add(socket, kHello);
  // It sends its settings and then GOAWAY.
  std::string said;
  ASSERT_TRUE(run_until(io, [&] {
    boost::asio::post(io, [] {});
    std::array<char, 4096> part{};
    const ssize_t got = ::recv(socket, part.data(), part.size(), MSG_DONTWAIT);
    if (got > 0) said.append(part.data(), static_cast<std::size_t>(got));
    return got == 0 || (got < 0 && errno == ECONNRESET) ||
           said.find(std::string_view{"\x07\0\0\0\0\0", 6}) != std::string::npos;
  })) << "a GOAWAY, or the end";
  EXPECT_TRUE(caller.closed.empty());
}

TEST(LinePace, DropsLinesBeyondItsLimitAndCountsThem) {
  LinePace pace;
  TimePoint now{std::chrono::hours{1}};
  for (std::uint64_t line = 0; line < LinePace::kLines; ++line) EXPECT_EQ(pace.take(now), 0U);
  EXPECT_FALSE(pace.take(now));
  EXPECT_FALSE(pace.take(now + LinePace::kSpan - std::chrono::seconds{1}));
  EXPECT_EQ(pace.take(now + LinePace::kSpan), 2U);
  EXPECT_EQ(pace.take(now + LinePace::kSpan), 0U);
}

TEST(PortOf, IsTheNumberAfterTheLastColon) {
  EXPECT_EQ(port_of("ipv4:127.0.0.1:40123"), 40123);
  EXPECT_EQ(port_of("ipv6:%5B::1%5D:7"), 7);
  EXPECT_EQ(port_of("unix:/run/a"), 0);
}

}  // namespace
}  // namespace sluice::rpc
