#include "load/io/replay_flags.h"

#include <gtest/gtest.h>

#include "load/io/options.h"

namespace sluice::loadgen {
namespace {

class ReplayFlagsTest : public ::testing::Test {
 protected:
  static LoadPlan plan_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "http://app.localhost:8080");
    const auto parsed = parse_options(arguments);
    EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
    return parsed ? parsed->plan : LoadPlan{};
  }

  static std::string problem_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "http://app.localhost:8080");
    const auto parsed = parse_options(arguments);
    return parsed ? "" : parsed.error().text();
  }
};

TEST_F(ReplayFlagsTest, AreReadIntoAReplay) {
  const LoadPlan plan = plan_of({"--replay", "day.csv:csv", "--speed", "2.5", "--times", "3", "-n",
                                 "9", "--max-connections", "4", "--seed", "7"});

  ASSERT_TRUE(plan.phases[0].replay);
  EXPECT_EQ(plan.phases[0].replay->trace.file, "day.csv");
  EXPECT_EQ(plan.phases[0].replay->trace.format, TraceFormat::csv);
  EXPECT_EQ(plan.phases[0].replay->speed, 2.5);
  EXPECT_EQ(plan.phases[0].replay->times, 3U);
  EXPECT_EQ(plan.loop, Loop::open);
  EXPECT_EQ(plan.count, 9U);
  EXPECT_EQ(plan.connections, 4U);
  EXPECT_EQ(plan.seed, 7U);
}

TEST_F(ReplayFlagsTest, AreRefusedBesideFlagsThatSetRateOrTime) {
  for (const auto& [flag, value] : {std::pair{"--shape", "1:10s"},
                                    {"--rate", "3"},
                                    {"-R", "3"},
                                    {"-c", "2"},
                                    {"-d", "5s"},
                                    {"-z", "5s"},
                                    {"--arrivals", "uniform"},
                                    {"--warmup", "1s"}}) {
    EXPECT_NE(problem_of({"--replay", "a.csv", flag, value}).find("--replay cannot be joined"),
              std::string::npos)
        << flag;
  }
}

TEST_F(ReplayFlagsTest, HaveBounds) {
  for (const char* speed : {"0", "0.0001", "1001", "nan", "-1"}) {
    EXPECT_NE(problem_of({"--replay", "a.csv", "--speed", speed}), "") << speed;
  }
  EXPECT_NE(problem_of({"--replay", "a.csv", "--times", "0"}).find("--times"), std::string::npos);
  EXPECT_NE(problem_of({"--replay", "a.csv", "--times", "1001"}).find("--times"),
            std::string::npos);
  for (const char* time : {"5", "-1s", "soon", ""}) {
    EXPECT_NE(problem_of({"--replay", "a.csv", "--from", time}), "") << time;
    EXPECT_NE(problem_of({"--replay", "a.csv", "--until", time}), "") << time;
  }
  EXPECT_EQ(problem_of({"--replay", "a.csv", "--from", "10s", "--until", "10s"}),
            "--until is not after --from; give for example --from 10m --until 20m");
}

TEST_F(ReplayFlagsTest, TakeAPartAndOtherMethods) {
  const LoadPlan plan =
      plan_of({"--replay", "a.csv", "--from", "10m", "--until", "1h", "--unsafe"});

  EXPECT_EQ(plan.phases[0].replay->part.from, std::chrono::minutes{10});
  EXPECT_EQ(plan.phases[0].replay->part.until, std::chrono::hours{1});
  EXPECT_EQ(plan.phases[0].replay->part.methods, Methods::all);
}

TEST_F(ReplayFlagsTest, AreRefusedWithoutATrace) {
  const std::vector<std::vector<std::string>> alone{
      {"--speed", "2"}, {"--times", "2"}, {"--from", "2s"}, {"--until", "2s"}, {"--unsafe"}};
  for (const auto& flags : alone) {
    EXPECT_NE(problem_of(flags).find("give --replay FILE with them"), std::string::npos)
        << flags[0];
  }
}

}  // namespace
}  // namespace sluice::loadgen
