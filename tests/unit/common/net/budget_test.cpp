// What clients may take of memory, places and patience.

#include "tests/unit/common/net/stage.h"

#include <string>

namespace sluice::net::testing {
namespace {

using std::chrono::milliseconds;

const std::string kSmall = "GET /small HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// A whole request whose head has about so many bytes; without its last line it is an unfinished
// one.
std::string large(std::size_t bytes) {
  return "GET /large HTTP/1.1\r\nHost: h\r\nX: " + std::string(bytes, 'x') + "\r\n\r\n";
}

std::string unfinished(std::size_t bytes) {
  const std::string whole = large(bytes);
  return whole.substr(0, whole.size() - 2);
}

ServerLimits tight_limits() {
  ServerLimits limits = stage_limits();
  limits.open_heads_bytes_max = 200 * 1024;
  limits.connections_max = 3;
  limits.slow_head = Duration{0};
  limits.write_timeout = milliseconds{60};
  return limits;
}

class BudgetTest : public Stage {
 protected:
  BudgetTest() : Stage{tight_limits()} {
    gateway_.on_begin = [this](Exchange& exchange) {
      memory_ = exchange.memory();
      exchange.respond(http::plain_response(200, "fine"));
    };
  }

  // No head of before takes anything: the memory for all has room for one long head only.
  void expect_room() {
    Client other{address_};
    other.send(large(80'000));
    until_seen(other, "fine");
  }

  std::size_t memory_ = 0;
};

TEST_F(BudgetTest, ARequestCountsItsHead) {
  Client client{address_};

  client.send(large(80'000));
  until_seen(client, "fine");

  EXPECT_GE(memory_, 80'000U);
}

TEST_F(BudgetTest, AConnectionReleasesTheMemoryOfALongHead) {
  Client client{address_};
  client.send(large(80'000));
  until_seen(client, "fine");
  client.forget();

  client.send(kSmall);
  until_seen(client, "fine");

  EXPECT_LT(memory_, 32U * 1024U);
  expect_room();
}

TEST_F(BudgetTest, AHeadThatDoesNotEndGivesWayToOneThatDoes) {
  Client slow{address_};
  slow.send(unfinished(70'000));
  settle();
  Client quick{address_};

  quick.send(large(70'000));

  until_seen(quick, "fine");
  until_closed(slow);
  EXPECT_NE(slow.seen().find("503 "), std::string::npos);
}

TEST_F(BudgetTest, AnEndlessHeadIsRefusedWhenItTakesMoreThanAllMay) {
  Client client{address_};

  client.send(unfinished(300'000));

  until_seen(client, "reason=open-heads");
  until_closed(client);
  expect_room();
}

TEST_F(BudgetTest, ASlowHeadIsClosedBeforeAnIdleConnection) {
  Client idle{address_};
  idle.send(kSmall);
  until_seen(idle, "fine");
  Client slow{address_};
  slow.send("GET / HTT");
  until([this] { return server_.connections() == 2; });
  settle();

  Client quick{address_};
  quick.send(kSmall);

  until_seen(quick, "fine");
  until_closed(slow);
  EXPECT_FALSE(idle.take());
}

TEST_F(BudgetTest, UnfinishedHeadsDoNotBlockOtherClients) {
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 10; ++i) {
    slow.push_back(std::make_unique<Client>(address_));
    slow.back()->send(i % 2 == 0 ? "GET / HTT" : "PRI * HTTP/2.0\r\n");
    settle();
  }

  Client quick{address_};
  quick.send(kSmall);

  until_seen(quick, "fine");
}

TEST_F(BudgetTest, AClientThatReadsNothingLosesItsConnection) {
  gateway_.on_begin = [](Exchange& exchange) {
    exchange.respond(http::plain_response(200, std::string(64 << 20, 'x')));
  };
  Client client{address_};

  client.send(kSmall);
  until([this] { return gateway_.ends.size() == 1; });

  until([this] { return server_.connections() == 0; });
}

TEST_F(BudgetTest, AResponseThatPausesDoesNotCloseItsClient) {
  gateway_.on_begin = [this](Exchange& exchange) { forward(exchange); };
  upstream_.play({{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"}});
  Client client{address_};
  client.send(kSmall);
  until_seen(client, "he");

  io_.run_for(milliseconds{200});
  upstream_.say("llo");

  until_seen(client, "hello");
  expect_quiet();
}

}  // namespace
}  // namespace sluice::net::testing
