#include "load/io/options.h"

#include <gtest/gtest.h>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

constexpr const char* kUrl = "http://app.localhost:8080";

LoadPlan plan_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kUrl);
  const auto parsed = parse_options(arguments);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
  return parsed ? parsed->plan : LoadPlan{};
}

std::string problem_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), kUrl);
  const auto parsed = parse_options(arguments);
  return parsed ? "" : parsed.error().text();
}

TEST(Options, DefaultToFiftyASecondForHalfAMinute) {
  EXPECT_EQ(describe(plan_of({})), "open loop, 50/s for 30 s, poisson, seed 1");
}

TEST(Options, AcceptTheFlagsOfOtherGenerators) {
  EXPECT_EQ(describe(plan_of({"-R", "200", "-z", "60s"})),
            "open loop, 200/s for 60 s, poisson, seed 1");
  EXPECT_EQ(describe(plan_of({"-c", "8", "-d", "10s"})), "closed loop, 8 connections for 10 s");
  EXPECT_EQ(describe(plan_of({"-c", "1", "-n", "5"})), "closed loop, 1 connection, 5 requests");
  EXPECT_EQ(describe(plan_of({"--shape", "step 20:10s, 400:20s", "--arrivals", "uniform"})),
            "open loop, step 20:10s, 400:20s, uniform");
}

TEST(Options, LimitTheRequestsOfAConnection) {
  EXPECT_EQ(plan_of({"--reuse", "always"}).reuse, std::nullopt);
  EXPECT_EQ(plan_of({"--reuse", "never"}).reuse, 1U);
  EXPECT_EQ(describe(plan_of({"--reuse", "1"})),
            "open loop, 50/s for 30 s, a connection for each request, poisson, seed 1");
  EXPECT_EQ(describe(plan_of({"-c", "8", "-n", "90", "--reuse", "1000"})),
            "closed loop, 8 connections, 90 requests, 1 000 requests per connection");
  for (const char* wrong : {"0", "-1", "often", "1.5", "", "99999999999999999999"}) {
    EXPECT_NE(problem_of({"--reuse", wrong}).find("--reuse"), std::string::npos) << wrong;
  }
}

TEST(Options, ReadTheRequestToSend) {
  const LoadPlan plan = plan_of({"-H", "A: 1", "-H", "B:2", "-b", "hello", "--timeout", "5s"});

  EXPECT_EQ(plan.targets[0].method, "POST");
  EXPECT_EQ(plan.targets[0].body, "hello");
  EXPECT_EQ(plan.timeout, 5s);
  ASSERT_EQ(plan.targets[0].headers.size(), 2U);
  EXPECT_EQ(plan.targets[0].headers[1].second, "2");
}

TEST(Options, NameTheFlagThatIsWrong) {
  EXPECT_NE(problem_of({"--pdf", "x"}).find("--pdf"), std::string::npos);
  EXPECT_NE(problem_of({"--html", ""}).find("--html"), std::string::npos);
  EXPECT_NE(problem_of({"--duration", "30"}).find("--duration"), std::string::npos);
  EXPECT_NE(problem_of({"--rate", "0"}).find("--rate"), std::string::npos);
  EXPECT_NE(problem_of({"--rate", "-5"}), "");
  EXPECT_NE(problem_of({"--rate", "nan"}), "");
  EXPECT_NE(problem_of({"-c", "0"}), "");
  EXPECT_NE(problem_of({"-c", "10001"}), "");
  EXPECT_NE(problem_of({"-n", "0"}).find("--count"), std::string::npos);
  EXPECT_NE(problem_of({"--timeout", "0s"}).find("--timeout"), std::string::npos);
  EXPECT_NE(problem_of({"--arrivals", "even"}).find("--arrivals"), std::string::npos);
  EXPECT_NE(problem_of({"-H", "no colon"}).find("-H"), std::string::npos);
  EXPECT_NE(problem_of({"-H", "Content-Length: 3"}).find("Content-Length"), std::string::npos);
  EXPECT_NE(problem_of({"-m", "GET /"}), "");
  EXPECT_NE(problem_of({"-b", "@/does/not/exist"}).find("/does/not/exist"), std::string::npos);
  EXPECT_NE(problem_of({"-b", "@/"}), "") << "a directory is no body";
  EXPECT_NE(problem_of({"--fail-if", "p99"}).find("p99"), std::string::npos);
  EXPECT_NE(problem_of({"--shape", "step 0:10s"}).find("--shape"), std::string::npos);
  EXPECT_NE(problem_of({"--shape", "5:1s, rmap 1-2:1s"}).find("--shape, column 7"),
            std::string::npos);
  EXPECT_NE(problem_of({"--shape", "1:24h, 1:1ms"}).find("--shape"), std::string::npos);
  EXPECT_NE(problem_of({"-o", "yaml"}).find("--output"), std::string::npos);
}

TEST(Options, RefuseFlagsThatMeanSomethingElseInAnotherGeneratorAndNameTheirOwn) {
  for (const auto& [arguments, fix] : {std::pair{std::vector<std::string>{"-q", "20"}, "--rate"},
                                       {{"-qps", "20"}, "--rate"},
                                       {{"-qps=20"}, "--rate"},
                                       {{"-t", "20"}, "--timeout"},
                                       {{"-t4"}, "--timeout"},
                                       {{"-d", "{\"a\": 1}"}, "--body"},
                                       {{"-D", "body.json"}, "--body @FILE"},
                                       {{"-T", "text/plain"}, "Content-Type"},
                                       {{"-A", "text/plain"}, "Accept"},
                                       {{"-U", "me"}, "User-Agent"},
                                       {{"-a", "me:secret"}, "Authorization"},
                                       {{"-host", "app"}, "-H 'Host: NAME'"},
                                       {{"-s", "post.lua"}, "--body"},
                                       {{"-disable-keepalive"}, "--reuse never"},
                                       {{"-h2"}, "HTTP/2"},
                                       {{"--latency"}, "remove it"}}) {
    EXPECT_NE(problem_of(arguments).find(fix), std::string::npos) << arguments.front();
  }
}

TEST(Options, TakeBodiesAndHeadersThatLookLikeFlagsOfOthers) {
  EXPECT_EQ(plan_of({"-b", "-t"}).targets[0].body, "-t");
  EXPECT_NE(problem_of({"-b", "-t", "-t", "5s"}).find("--timeout"), std::string::npos);
}

TEST(Options, EndWithOneForAFigureThatDoesNotExistAndWithTwoForWrongFlags) {
  EXPECT_EQ(parse_options({kUrl, "--fail-if", "no_such > 1"}).error().status, 1);
  EXPECT_EQ(parse_options({kUrl, "--fail-if", "p99 > 1"}).error().status, 2);
  EXPECT_EQ(parse_options({kUrl, "--rate", "0"}).error().status, 2);
}

TEST(Options, RefuseAFlagThatIsEmpty) {
  for (const char* const flag :
       {"--file", "--shape", "--replay", "--duration", "-z", "--arrivals", "--method", "--timeout",
        "--warmup", "--reuse", "--json", "-R", "--speed"}) {
    EXPECT_NE(problem_of({flag, ""}).find(" is empty"), std::string::npos) << flag;
  }
}

TEST(Options, RefuseANumberThatWouldBecomeAnother) {
  for (const char* const flag : {"-n", "--seed", "--times", "-c", "--max-connections"}) {
    for (const char* const value : {"-1", "99999999999999999999", ""}) {
      EXPECT_NE(problem_of({flag, value}).find("is not a whole number"), std::string::npos)
          << flag << " " << value;
    }
  }
}

TEST(Options, TakeEveryShapeWithItsWholeLength) {
  const LoadPlan plan = plan_of({"--shape",
                                 " ramp 0-10:10s, exp 1-8:20s, sine 1-5/2s:30s, "
                                 "spike 9:40s, day 1-5:50s, pause 60s "});

  EXPECT_EQ(plan.duration, 210s);
  EXPECT_EQ(describe(plan),
            "open loop, ramp 0-10:10s, exp 1-8:20s, sine 1-5/2s:30s, spike 9:40s, day 1-5:50s, "
            "pause 60s, poisson, seed 1");
}

TEST(Options, RefuseAShapeBesideFlagsThatSetRateOrTime) {
  for (const auto& [flag, value] : {std::pair{"--rate", "3"},
                                    {"-R", "3"},
                                    {"-c", "2"},
                                    {"--duration", "5s"},
                                    {"-z", "5s"},
                                    {"-d", "5s"}}) {
    EXPECT_NE(problem_of({"--shape", "step 1:10s", flag, value}).find("--shape cannot be joined"),
              std::string::npos)
        << flag;
  }
}

TEST(Options, RefuseAMissingUrl) {
  EXPECT_FALSE(parse_options({}));
}

}  // namespace
}  // namespace sluice::loadgen
