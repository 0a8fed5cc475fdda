#include "load/io/load_threads.h"

#include "tests/unit/load/scripted_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

LoadPlan open_loop() {
  LoadPlan plan;
  plan.phases[0].segments = {{2000, 500ms}};
  plan.duration = 500ms;
  plan.connections = 30;
  return plan;
}

TEST(LoadThreads, HaveTheSameScheduleForAnyNumber) {
  LoadPlan plan = open_loop();
  plan.targets.resize(2);
  const auto times = [&plan](std::size_t threads) {
    std::vector<std::pair<std::int64_t, std::uint64_t>> all;
    for (std::size_t i = 0; i < threads; ++i) {
      Pacer pacer{plan, {}, {i, threads}};
      while (pacer.next()) {
        const PlannedRequest planned = pacer.take();
        all.emplace_back(planned.at.count(), planned.number * 2 + planned.target);
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  };

  const auto one = times(1);

  EXPECT_GT(one.size(), 800U);
  EXPECT_EQ(times(2), one);
  EXPECT_EQ(times(3), one);
}

TEST(LoadThreads, ShareConnectionsAndCountsWithoutARest) {
  LoadPlan plan;
  plan.loop = Loop::closed;
  plan.connections = 8;
  plan.count = 10;
  std::size_t connections = 0;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const LoadPlan part = plan_of_share(plan, {i, 3});
    connections += part.connections;
    count += *part.count;
  }
  EXPECT_EQ(connections, 8U);
  EXPECT_EQ(count, 10U);
}

class LoadThreadsTest : public ::testing::Test {
 protected:
  LoadThreadsTest()
      : server_{server_loop_,
                [](std::string_view) -> ScriptedServer::Reply {
                  return {ScriptedServer::ok("hello"), {}};
                }},
        thread_{[this] { server_loop_.run(); }} {}

  ~LoadThreadsTest() override {
    boost::asio::post(server_loop_, [this] { server_.stop(); });
    thread_.join();
  }

  // Ends only when every thread has.
  Tally run(LoadPlan plan, std::size_t threads) {
    plan.threads = threads;
    plan.targets[0].target = *parse_target("http://127.0.0.1:" + std::to_string(server_.port()));
    boost::asio::io_context loop{1};
    Clock clock;
    LoadThreads load{loop, clock, plan, {"127.0.0.1"}, {}, nullptr};
    bool done = false;
    load.start([&done] { done = true; });
    // Results of other threads come from there, also when this one has nothing left to do.
    const auto guard = boost::asio::make_work_guard(loop);
    while (!done) loop.run_one();
    return load.results().whole;
  }

  boost::asio::io_context server_loop_{1};
  ScriptedServer server_;
  std::thread thread_;
};

TEST_F(LoadThreadsTest, SendWhatOneThreadWouldAndEnd) {
  const Tally one = run(open_loop(), 1);
  const Tally three = run(open_loop(), 3);

  EXPECT_EQ(three.sent(), one.sent());
  EXPECT_EQ(three.ended(Ending::answered), one.sent());
  EXPECT_EQ(three.latency().count(), one.sent());
  EXPECT_EQ(three.last_planned(), one.last_planned());
}

TEST_F(LoadThreadsTest, EndWithACountOfRequestsInAClosedLoop) {
  LoadPlan plan;
  plan.loop = Loop::closed;
  plan.connections = 4;
  plan.count = 1001;
  plan.duration.reset();

  EXPECT_EQ(run(plan, 3).ended(Ending::answered), 1001U);
}

}  // namespace
}  // namespace sluice::loadgen
