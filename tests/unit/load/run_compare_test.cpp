#include "load/run_compare.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace sluice::loadgen {
namespace {

// A report of a minute at 100/s; every second so many requests fail.
std::string report(int errors_a_second, const std::string& name = "", int seed = 1) {
  nlohmann::json out{{"schema", 1},
                     {"name", name},
                     {"plan", {{"loop", "open"}, {"seed", seed}}},
                     {"requests", {{"sent", 6000}}},
                     {"errors", {{"rate", errors_a_second / 100.0}}},
                     {"latency_ms", {{"p50", 20}, {"p99", 40}}},
                     {"generator", {{"rate_achieved", 100}}}};
  for (int second = 0; second < 60; ++second) {
    out["seconds"].push_back({{"at_s", second},
                              {"sent", 100},
                              {"errors", errors_a_second + second % 2},
                              {"max_ms", 50 + second % 3}});
  }
  return out.dump();
}

class RunCompareTest : public ::testing::Test {
 protected:
  RunCompareTest() {
    std::string pattern = testing::TempDir() + "compare-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }

  ~RunCompareTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream{path, std::ios::binary} << text;
    return path;
  }

  // The exit status; what it prints goes to out_ and err_.
  int run(const std::vector<std::string>& args) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_compare(args);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }

  bool refuses(int status, const std::string& text, const std::vector<std::string>& args) {
    return run(args) == status && out_.empty() && err_.find(text) != std::string::npos;
  }

  std::string folder_;
  std::string out_;
  std::string err_;
};

TEST_F(RunCompareTest, ARunBesideItselfIsTheSame) {
  const std::string file = write("a.json", report(2));
  EXPECT_EQ(run({file, file}), 0);
  EXPECT_EQ(out_.find("worse"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("unclear"), std::string::npos) << out_;
  EXPECT_NE(out_.find("the same as "), std::string::npos) << out_;
}

TEST_F(RunCompareTest, AWorseRunEndsWithFourAndABetterOneWithZero) {
  const std::string good = write("good.json", report(1));
  const std::string bad = write("bad.json", report(5));
  EXPECT_EQ(run({good, bad}), 4);
  EXPECT_NE(out_.find("worse than " + good.substr(0, 60)), std::string::npos) << out_;
  EXPECT_EQ(run({bad, good}), 0);
  EXPECT_NE(out_.find("better than "), std::string::npos) << out_;
}

TEST_F(RunCompareTest, JsonHasEachFigureWithItsInterval) {
  const std::string good = write("good.json", report(1));
  const std::string bad = write("bad.json", report(5, "new"));
  EXPECT_EQ(run({good, bad, "-o", "json"}), 4);
  const auto out = nlohmann::json::parse(out_);
  EXPECT_EQ(out["verdict"], "worse");
  EXPECT_EQ(out["tolerance"], 0.1);
  EXPECT_EQ(out["baseline"]["file"], good);
  const auto& comparison = out["comparisons"][0];
  EXPECT_EQ(comparison["name"], "new");
  EXPECT_EQ(comparison["runs"][0]["file"], bad);
  for (const auto& figure : comparison["figures"]) {
    if (figure["figure"] != "error rate") continue;
    EXPECT_EQ(figure["verdict"], "worse");
    EXPECT_NEAR(figure["change"].get<double>(), 0.04, 1e-9);
    EXPECT_LT(figure["interval"][0], 0.0401);
    EXPECT_GT(figure["interval"][1], 0.0399);
  }
}

TEST_F(RunCompareTest, MarkdownIsATableOfAtMostFourKibibytes) {
  const std::string good = write("good.json", report(1));
  std::vector<std::string> args{good};
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    args.push_back(write("run" + number + ".json", report(5, "name-" + number)));
  }
  args.insert(args.end(), {"-o", "markdown"});
  EXPECT_EQ(run(args), 4);
  EXPECT_LE(out_.size(), 4096U);
  EXPECT_NE(out_.find("**name-0: worse than "), std::string::npos) << out_;
  EXPECT_NE(out_.find("|---|"), std::string::npos);
  EXPECT_NE(out_.find("more comparisons are left out"), std::string::npos) << out_;
}

TEST_F(RunCompareTest, ATolerancePermitsAChange) {
  const std::string good = write("good.json", report(1));
  const std::string bad = write("bad.json", report(5));
  EXPECT_EQ(run({good, bad, "--tolerance", "500%"}), 0);
  EXPECT_EQ(run({good, bad, "--tolerance", "5"}), 0);
  EXPECT_EQ(run({good, bad, "--tolerance", "3"}), 4);
}

TEST_F(RunCompareTest, RunsOfOtherPlansAreComparedOnlyAnyway) {
  const std::string one = write("one.json", report(1));
  const std::string other = write("other.json", report(1, "", 2));
  EXPECT_TRUE(refuses(78, "plan.seed is 2, it was 1", {one, other})) << err_;
  EXPECT_EQ(run({one, other, "--anyway"}), 0);
}

TEST_F(RunCompareTest, AFileThatIsNoReportIsNamed) {
  const std::string good = write("good.json", report(1));
  const std::string whole = report(1);
  const std::string cut = write("cut.json", whole.substr(0, whole.size() / 2));
  const std::string none = write("none.json", "[]");
  EXPECT_TRUE(refuses(78, "'" + cut + "': it ends in the middle", {good, cut})) << err_;
  EXPECT_TRUE(refuses(78, "'" + none + "': it is no report of sluice load", {none, good})) << err_;
  EXPECT_TRUE(refuses(78, "absent.json': it cannot be opened", {good, folder_ + "/absent.json"}))
      << err_;
  EXPECT_TRUE(refuses(78, "it cannot be read", {good, folder_})) << err_;
}

TEST_F(RunCompareTest, WrongFlagsAreRefused) {
  const std::string good = write("good.json", report(1));
  EXPECT_TRUE(refuses(2, "two reports or more", {good})) << err_;
  EXPECT_TRUE(refuses(2, "--tolerance is not 0 to 1000%", {good, good, "--tolerance", "-1"}))
      << err_;
  EXPECT_TRUE(refuses(2, "html", {good, good, "-o", "html"})) << err_;
  EXPECT_TRUE(refuses(2, "--frob", {good, good, "--frob"})) << err_;
  EXPECT_TRUE(refuses(2, "more than 100 reports", std::vector<std::string>(101, good))) << err_;
}

}  // namespace
}  // namespace sluice::loadgen
