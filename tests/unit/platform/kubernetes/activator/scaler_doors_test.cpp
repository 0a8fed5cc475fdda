// Ports of RequestScalers over loopback, with the real gateway behind them.

#include "platform/kubernetes/activator/io/scaler_doors.h"

#include "common/kube/request_scaler.h"
#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/common/net/stage.h"

#include <boost/asio/ip/tcp.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <unistd.h>

namespace sluice::activator {
namespace {

using net::testing::Client;
using net::testing::ScriptedUpstream;
using testing::IdleOwner;
using testing::NoRoutes;

const RevisionId kCart{"shop", "cart"};
const RevisionId kPay{"shop", "pay"};
constexpr std::string_view kGet = "GET /a HTTP/1.1\r\nHost: anything\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
constexpr int kTurnsMax = 2000;  // of at most ten milliseconds each

class Poked final : public IdleOwner {
 public:
  void on_poke(RevisionHandle revision, const RevisionStat& /*stat*/) override {
    poked.push_back(revision);
  }

  std::vector<RevisionHandle> poked;
};

class ScalerDoorsTest : public ::testing::Test {
 protected:
  // A free port of the range.
  std::uint16_t free_port() {
    while (next_port_ <= kube::kActivatorPortLast) {
      const std::uint16_t port = next_port_++;
      boost::asio::ip::tcp::acceptor probe{io_};
      boost::system::error_code ec;
      probe.open(boost::asio::ip::tcp::v4(), ec);
      probe.bind({boost::asio::ip::address_v4::loopback(), port}, ec);
      if (!ec) return port;
    }
    return 0;
  }

  RevisionHandle add(const RevisionId& id) {
    const RevisionHandle handle = front_.add({.id = id, .throttler = {}, .timeouts = {}});
    known_[id] = handle;
    return handle;
  }

  void give_pod(RevisionHandle revision, const ScriptedUpstream& pod) {
    const FrontPod one{.id = {pod.address().text()}, .address = pod.address()};
    front_.set_pods(revision, std::vector{one});
  }

  std::uint16_t open(const RevisionId& id) {
    const std::uint16_t port = free_port();
    doors_.want(id, port);
    doors_.settle();
    return port;
  }

  static net::Address at(std::uint16_t port) {
    return {.host = "127.0.0.1", .port = port, .path = {}};
  }

  void until(const std::function<bool()>& condition) {
    for (int turn = 0; turn < kTurnsMax && !condition(); ++turn) {
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds{10});
    }
    EXPECT_TRUE(condition());
  }

  void until_seen(Client& client, const std::string& text) {
    until([&] {
      client.take();
      return client.seen().find(text) != std::string::npos;
    });
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  log::Logger log_{"test", log::Severity::error};
  NoRoutes routes_;
  Poked owner_;
  ScriptedUpstream pod_{io_};
  FrontGateway front_{io_, time_, routes_, owner_, {}};
  std::map<RevisionId, RevisionHandle> known_;
  static constexpr std::size_t kConnectionsMost = 8;

  net::ServerLimits limits() {
    net::ServerLimits limits = net::testing::stage_limits();
    limits.shared = &connections_;
    return limits;
  }

  net::ConnectionCount connections_{kConnectionsMost};
  ScalerDoors doors_{io_,
                     clock_,
                     front_,
                     [this](const RevisionId& id) -> std::optional<RevisionHandle> {
                       const auto found = known_.find(id);
                       if (found == known_.end()) return std::nullopt;
                       return found->second;
                     },
                     log_,
                     {.host = "127.0.0.1", .limits = limits()}};
  std::uint16_t next_port_ =
      static_cast<std::uint16_t>(kube::kActivatorPortFirst + (::getpid() * 37) % 9000);
};

TEST_F(ScalerDoorsTest, ServesARequestByThePortWhateverItsHost) {
  pod_.play({{kHello}});
  give_pod(add(kCart), pod_);
  Client client{at(open(kCart))};

  client.send(kGet);
  until_seen(client, "hello");

  EXPECT_NE(pod_.received().find("K-Proxy-Request: activator"), std::string::npos);
}

// queue-proxy.md 15.21: no ingress of Knative's stands before these ports.
TEST_F(ScalerDoorsTest, TrustsNoClientAboutItsHost) {
  pod_.play({{kHello}});
  give_pod(add(kCart), pod_);
  Client client{at(open(kCart))};

  client.send(
      "GET /a HTTP/1.1\r\nHost: shop.example\r\nK-Original-Host: admin.example\r\n"
      "Connection: K-Original-Host\r\n\r\n");
  until_seen(client, "hello");

  EXPECT_EQ(pod_.received().find("admin.example"), std::string::npos);
  EXPECT_NE(pod_.received().find("K-Original-Host: shop.example\r\n"), std::string::npos);
}

TEST_F(ScalerDoorsTest, HoldsARequestUntilThereIsAPodAndWakesTheRevision) {
  pod_.play({{kHello}});
  const RevisionHandle cart = add(kCart);
  Client client{at(open(kCart))};
  client.send(kGet);
  until([&] { return front_.waiting(cart) == 1; });
  EXPECT_EQ(owner_.poked, std::vector{cart});

  give_pod(cart, pod_);

  until_seen(client, "hello");
}

TEST_F(ScalerDoorsTest, KeepsPortsApart) {
  ScriptedUpstream other{io_};
  pod_.play({{kHello}});
  other.play({{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\npay"}});
  give_pod(add(kCart), pod_);
  give_pod(add(kPay), other);
  Client cart{at(open(kCart))};
  Client pay{at(open(kPay))};

  cart.send(kGet);
  pay.send(kGet);

  until_seen(cart, "hello");
  until_seen(pay, "pay");
}

// Connections are files of one process, whichever door they came through.
TEST_F(ScalerDoorsTest, HaveOneLimitOfConnectionsTogether) {
  add(kCart);
  add(kPay);
  const std::uint16_t cart = open(kCart);
  const std::uint16_t pay = open(kPay);
  std::list<Client> clients;
  std::size_t most = 0;
  for (const std::uint16_t port : {cart, pay}) {
    for (std::size_t i = 0; i < kConnectionsMost; ++i) {
      Client& client = clients.emplace_back(at(port));
      client.send("GET / HTTP/1.1\r\nHost: a\r\nK-Network-Probe: activator\r\n\r\n");
      until_seen(client, "activator");
      most = std::max(most, connections_.open());
    }
  }
  EXPECT_LE(most, kConnectionsMost);
  EXPECT_EQ(connections_.open(), doors_.connections());
  clients.clear();
  until([&] { return doors_.connections() == 0; });
  EXPECT_EQ(connections_.open(), 0U);
}

TEST_F(ScalerDoorsTest, ServesHttp2OnTheSamePort) {
  add(kCart);
  Client client{at(open(kCart))};
  const std::string settings{"\0\0\0\x04\0\0\0\0\0", 9};

  client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings);

  until([&] {
    client.take();
    return client.seen().size() >= 9 && client.seen()[3] == '\x04';
  });
}

// activator.md 3: the probe that the autoscaler sends before it sends traffic here.
TEST_F(ScalerDoorsTest, AnswersTheProbesOfTheAutoscalerAndOfAnIngress) {
  add(kCart);
  Client client{at(open(kCart))};

  client.send("GET /healthz HTTP/1.1\r\nHost: a\r\nK-Network-Probe: activator\r\n\r\n");
  until_seen(client, "\r\n\r\nactivator");
  client.forget();
  client.send("GET / HTTP/1.1\r\nHost: a\r\nK-Network-Probe: probe\r\nK-Network-Hash: x1\r\n\r\n");
  until_seen(client, "K-Network-Hash: x1");

  EXPECT_TRUE(owner_.poked.empty());
}

TEST_F(ScalerDoorsTest, AnswersThatARevisionIsGoneOnAConnectionThatIsStillOpen) {
  const RevisionHandle cart = add(kCart);
  const std::uint16_t port = open(kCart);
  Client client{at(port)};
  client.send("GET / HTTP/1.1\r\nHost: a\r\nK-Network-Probe: activator\r\n\r\n");
  until_seen(client, "activator");
  client.forget();

  known_.erase(kCart);
  front_.remove(cart);
  doors_.want(kCart, 0);
  doors_.settle();
  client.send(kGet);

  until_seen(client, "404");
  EXPECT_NE(client.seen().find("Sluice-Error: no-route"), std::string::npos);
  until([&] { return client.take(); });
  client.close();
  until([&] { return doors_.connections() == 0; });
  doors_.sweep();
  EXPECT_EQ(doors_.open(), 0U);
}

TEST_F(ScalerDoorsTest, ARunningRequestFinishesAfterItsDoorIsClosed) {
  pod_.play({{""}});
  give_pod(add(kCart), pod_);
  Client client{at(open(kCart))};
  client.send(kGet);
  until([&] { return pod_.requests() == 1; });

  doors_.want(kCart, 0);
  doors_.settle();
  doors_.sweep();
  pod_.say(kHello);

  until_seen(client, "hello");
  EXPECT_NE(client.seen().find("Connection: close"), std::string::npos);
}

TEST_F(ScalerDoorsTest, AcceptsNoConnectionAtAClosedDoor) {
  add(kCart);
  const std::uint16_t port = open(kCart);

  doors_.want(kCart, 0);
  doors_.settle();

  boost::asio::ip::tcp::socket socket{io_};
  boost::system::error_code ec;
  socket.connect({boost::asio::ip::address_v4::loopback(), port}, ec);
  EXPECT_EQ(ec, boost::asio::error::connection_refused);
}

TEST_F(ScalerDoorsTest, GivesAPortToItsNextOwnerWhileConnectionsOfTheLastOneEnd) {
  ScriptedUpstream other{io_};
  pod_.play({{""}});
  other.play({{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\npay"}});
  give_pod(add(kCart), pod_);
  give_pod(add(kPay), other);
  const std::uint16_t port = open(kCart);
  Client cart{at(port)};
  cart.send(kGet);
  until([&] { return pod_.requests() == 1; });

  doors_.want(kCart, 0);
  doors_.want(kPay, port);
  doors_.settle();
  Client pay{at(port)};
  pay.send(kGet);

  until_seen(pay, "pay");
  pod_.say(kHello);
  until_seen(cart, "hello");
}

TEST_F(ScalerDoorsTest, TriesAPortAgainThatAnotherProgramHas) {
  add(kCart);
  const std::uint16_t port = free_port();
  auto taken = std::make_unique<boost::asio::ip::tcp::acceptor>(
      io_, boost::asio::ip::tcp::endpoint{boost::asio::ip::address_v4::loopback(), port});
  doors_.want(kCart, port);
  doors_.settle();
  EXPECT_EQ(doors_.open(), 0U);
  EXPECT_EQ(doors_.missing(), 1U);

  taken.reset();
  doors_.sweep();

  EXPECT_EQ(doors_.open(), 1U);
}

}  // namespace
}  // namespace sluice::activator
