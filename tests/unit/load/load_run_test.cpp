#include "load/io/load_run.h"

#include "tests/unit/load/scripted_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;
using Reply = ScriptedServer::Reply;
using After = ScriptedServer::After;

class LoadRunTest : public ::testing::Test {
 protected:
  // One after the other on one connection, so that the script's order is the order of the requests.
  static LoadPlan one_by_one(std::uint64_t count) {
    LoadPlan plan;
    plan.loop = Loop::closed;
    plan.connections = 1;
    plan.count = count;
    plan.duration.reset();
    return plan;
  }

  Tally run(LoadPlan plan, std::function<Reply(std::string_view)> script, CellReader cells = {}) {
    ScriptedServer server{loop_, std::move(script)};
    plan.targets[0].target = *parse_target("http://127.0.0.1:" + std::to_string(server.port()));
    plan.targets[0].path = PathTemplate::literal("/p?q=1");
    std::vector<CellReader> readers;
    if (cells) readers.push_back(std::move(cells));
    LoadRun load{loop_, clock_, plan, {"127.0.0.1"}, std::move(readers)};
    load.start([&server] { server.stop(); });
    loop_.run();
    loop_.restart();
    first_error_ = load.error_samples().first();
    connections_ = server.connections();
    return load.results().whole;
  }

  boost::asio::io_context loop_{1};
  Clock clock_;
  std::string first_error_;
  std::size_t connections_ = 0;
};

TEST_F(LoadRunTest, KeepsOneConnectionForManyAnswers) {
  const Tally tally = run(one_by_one(50), [](std::string_view) {
    return Reply{ScriptedServer::ok("hello"), {}};
  });

  EXPECT_EQ(tally.sent(), 50U);
  EXPECT_EQ(tally.ended(Ending::answered), 50U);
  EXPECT_EQ(tally.bytes(), 250U);
  EXPECT_EQ(connections_, 1U);
}

TEST_F(LoadRunTest, ClosesAConnectionThatHasCarriedItsRequests) {
  LoadPlan plan = one_by_one(50);
  plan.reuse = 20;

  const Tally tally = run(plan, [](std::string_view head) {
    EXPECT_EQ(head.find("Connection:"), std::string_view::npos);
    return Reply{ScriptedServer::ok("hello"), {}};
  });

  EXPECT_EQ(tally.ended(Ending::answered), 50U);
  EXPECT_EQ(connections_, 3U);
}

TEST_F(LoadRunTest, AsksTheServerToCloseEachConnectionThatIsNotUsedAgain) {
  LoadPlan plan = one_by_one(10);
  plan.reuse = 1;

  const Tally tally = run(plan, [](std::string_view head) {
    EXPECT_NE(head.find("\r\nConnection: close\r\n"), std::string_view::npos);
    return Reply{ScriptedServer::ok("hello"), {}};
  });

  EXPECT_EQ(tally.ended(Ending::answered), 10U);
  EXPECT_EQ(connections_, 10U);
}

TEST_F(LoadRunTest, SendsRequestsAsPlanned) {
  LoadPlan plan = one_by_one(1);
  plan.targets[0].method = "PUT";
  plan.targets[0].headers = {{"X-One", "1"}, {"host", "other"}};
  std::string seen;

  run(plan, [&seen](std::string_view head) {
    seen = head;
    return Reply{ScriptedServer::ok(""), {}};
  });

  EXPECT_EQ(seen,
            "PUT /p?q=1 HTTP/1.1\r\nUser-Agent: sluice-load\r\nX-One: 1\r\nhost: other\r\n"
            "Content-Length: 0\r\n\r\n");
}

// The server reads no bodies, so that of -b is an empty one.
TEST_F(LoadRunTest, SendsARecordedMethodWithoutTheBodyOfThePlan) {
  LoadPlan plan;
  plan.targets[0].method = "PUT";
  plan.duration = 1ms;
  plan.phases[0].replay.emplace();
  std::multiset<std::string> seen;

  const Tally tally = run(
      plan,
      [&seen](std::string_view head) {
        const bool has_length = head.find("Content-Length") != std::string_view::npos;
        seen.insert(std::string{head.substr(0, head.find(' '))} + (has_length ? " 0" : ""));
        const bool bodiless = head.starts_with("HEAD ");
        return Reply{
            bodiless ? "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" : ScriptedServer::ok("hello"),
            {}};
      },
      [](const CellSink& sink) {
        for (const char* method : {"GET", "HEAD", "OPTIONS", "", "POST", "HEAD"}) {
          TraceCell cell;
          cell.method = method;
          sink(cell);
        }
        return false;
      });

  EXPECT_EQ(tally.ended(Ending::answered), 5U) << first_error_;
  EXPECT_EQ(seen, (std::multiset<std::string>{"GET", "HEAD", "HEAD", "OPTIONS", "PUT 0"}));
}

TEST_F(LoadRunTest, NumbersRequestsWithoutGapsOrRepeats) {
  LoadPlan plan = one_by_one(100);
  plan.connections = 7;
  plan.ids = "run";
  std::set<std::string> ids;

  const Tally tally = run(plan, [&ids](std::string_view head) {
    const std::size_t at = head.find("X-Request-Id: ");
    EXPECT_NE(at, std::string_view::npos);
    ids.emplace(head.substr(at + 14, head.find("\r\n", at) - at - 14));
    return Reply{ScriptedServer::ok(""), {}};
  });

  EXPECT_EQ(tally.ended(Ending::answered), 100U);
  EXPECT_EQ(ids.size(), 100U);
  EXPECT_TRUE(ids.contains("run-1"));
  EXPECT_TRUE(ids.contains("run-100"));
}

TEST_F(LoadRunTest, ReadsEveryFramingOfABody) {
  int number = 0;
  const Tally tally = run(one_by_one(6), [&number](std::string_view) {
    switch (++number) {
      case 1:
        return Reply{
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n"
            "0\r\nTrailer: t\r\n\r\n",
            {}};
      case 2:
        return Reply{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", {}};
      case 3:
        return Reply{ScriptedServer::ok(std::string(100'000, 'x')), {}};
      case 4:
        return Reply{"HTTP/1.0 200 OK\r\n\r\nuntil the end", After::close};
      case 5:
        return Reply{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\ny",
                     After::close};
      default:
        return Reply{"HTTP/1.1 503 No\r\nSluice-Error: queue-full\r\nContent-Length: 0\r\n\r\n",
                     {}};
    }
  });

  EXPECT_EQ(tally.ended(Ending::answered), 6U) << first_error_;
  EXPECT_EQ(tally.bytes(), 5U + 100'000U + 13U + 1U);
  EXPECT_EQ(tally.refused(), 1U);
  EXPECT_EQ(tally.statuses().at(204), 1U);
  EXPECT_EQ(connections_, 3U);
}

TEST_F(LoadRunTest, ReadsHeadsWithoutBodies) {
  LoadPlan plan = one_by_one(3);
  plan.targets[0].method = "HEAD";

  const Tally tally = run(plan, [](std::string_view) {
    return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", {}};
  });

  EXPECT_EQ(tally.ended(Ending::answered), 3U);
  EXPECT_EQ(connections_, 1U);
}

TEST_F(LoadRunTest, SortsFailuresIntoClasses) {
  int number = 0;
  LoadPlan plan = one_by_one(6);
  plan.loop = Loop::open;
  plan.phases[0].segments = {{100'000, 1s}};

  const Tally tally = run(plan, [&number](std::string_view) {
    switch (++number) {
      case 1:
        return Reply{"SSH-2.0-OpenSSH_9.2\r\n\r\n", After::close};
      case 2:
        return Reply{"HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'), {}};
      case 3:
        return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", After::close};
      case 4:
        return Reply{"", After::reset};
      case 5:
        return Reply{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", {}};
      default:
        return Reply{ScriptedServer::ok("fine"), {}};
    }
  });

  EXPECT_EQ(tally.ended(Ending::invalid), 3U);
  EXPECT_EQ(tally.ended(Ending::reset), 2U);
  EXPECT_EQ(tally.ended(Ending::answered), 1U);
  EXPECT_EQ(tally.errors(), 5U);
  EXPECT_FALSE(first_error_.empty());
}

TEST_F(LoadRunTest, EndsEachStalledRequestByItsTimeout) {
  LoadPlan plan = one_by_one(3);
  plan.timeout = 150ms;
  int number = 0;

  const Tally tally = run(plan, [&number](std::string_view) {
    return ++number == 2 ? Reply{ScriptedServer::ok(""), {}} : Reply{};
  });

  EXPECT_EQ(tally.ended(Ending::timeout), 2U);
  EXPECT_EQ(tally.ended(Ending::answered), 1U);
  EXPECT_GE(tally.latency().max(), 150ms);
}

TEST_F(LoadRunTest, CountsConnectionsThatAreRefused) {
  LoadPlan plan = one_by_one(2);
  {
    ScriptedServer gone{loop_, [](std::string_view) { return Reply{}; }};
    plan.targets[0].target = *parse_target("http://127.0.0.1:" + std::to_string(gone.port()));
    gone.stop();
    loop_.run();
    loop_.restart();
  }
  LoadRun load{loop_, clock_, plan, {"127.0.0.1"}};
  bool done = false;

  load.start([&done] { done = true; });
  loop_.run();

  EXPECT_TRUE(done);
  EXPECT_EQ(load.results().whole.ended(Ending::connect_refused), 2U);
  EXPECT_NE(load.error_samples().first().find("127.0.0.1"), std::string::npos);
}

// Goal: what falls due while the only connection is busy is late, not left out.
TEST_F(LoadRunTest, ChargesTheWaitForAConnectionToTheRequest) {
  LoadPlan plan;
  plan.phases[0].segments = {{1000, 50ms}};
  plan.duration = 50ms;
  plan.arrivals = Arrivals::uniform;
  plan.connections = 1;
  plan.timeout = 40ms;
  int number = 0;

  const Tally tally = run(plan, [&number](std::string_view) {
    return ++number == 1 ? Reply{} : Reply{ScriptedServer::ok(""), {}};
  });

  EXPECT_EQ(tally.sent() + tally.unsent(), 50U);
  EXPECT_GE(tally.ended(Ending::timeout), 1U);
  // Those that fell due in the first half of the stall waited for its second half at least.
  EXPECT_GE(tally.latency().percentile(70), 20ms);
  EXPECT_GE(tally.lag().percentile(70), 20ms);
}

TEST_F(LoadRunTest, StopsAtOnceAndReportsCutRequests) {
  ScriptedServer server{loop_, [](std::string_view) { return Reply{ScriptedServer::ok(""), {}}; }};
  LoadPlan plan;
  plan.targets[0].target = *parse_target("http://127.0.0.1:" + std::to_string(server.port()));
  LoadRun load{loop_, clock_, plan, {"127.0.0.1"}};

  load.start([&server] { server.stop(); });
  boost::asio::post(loop_, [&load] { load.stop(); });
  loop_.run();

  EXPECT_TRUE(load.interrupted());
  EXPECT_EQ(load.results().whole.unsent(), 0U);
}

// Goal: targets of several addresses share the limit on connections, and each request is that of
// its target. Method: one connection allowed, two servers in turn.
TEST_F(LoadRunTest, SendsEachTargetItsOwnRequestsWithinOneLimitOnConnections) {
  std::vector<std::string> seen;
  const auto script = [&seen](std::string_view head) {
    seen.emplace_back(head.substr(0, head.find(" HTTP")));
    return Reply{ScriptedServer::ok(""), {}};
  };
  ScriptedServer first{loop_, script};
  ScriptedServer second{loop_, script};
  LoadPlan plan;
  plan.targets.resize(2);
  plan.targets[0].target.port = first.port();
  plan.targets[0].path = *PathTemplate::parse("/a/{n}");
  plan.targets[1].target.port = second.port();
  plan.targets[1].method = "HEAD";
  plan.arrivals = Arrivals::uniform;
  plan.phases[0].segments = {{1000, 6ms}};
  plan.duration = 6ms;
  plan.connections = 1;
  LoadRun load{loop_, clock_, plan, {"127.0.0.1", "127.0.0.1"}};

  load.start([&] {
    first.stop();
    second.stop();
  });
  loop_.run();

  EXPECT_EQ(seen, (std::vector<std::string>{"GET /a/1", "HEAD /", "GET /a/2", "HEAD /", "GET /a/3",
                                            "HEAD /"}));
  EXPECT_EQ(load.connections(), 1U);
  EXPECT_EQ(first.connections() + second.connections(), 6U);
  EXPECT_EQ(load.results().targets[1].ended(Ending::answered), 3U);
}

}  // namespace
}  // namespace sluice::loadgen
