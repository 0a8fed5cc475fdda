#include "load/io/trace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>

namespace sluice::loadgen {
namespace {

class TraceFileTest : public ::testing::Test {
 protected:
  TraceFileTest() {
    std::string pattern = testing::TempDir() + "trace-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }

  ~TraceFileTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream{path, std::ios::binary} << text;
    return path;
  }

  // Requests, cells with durations, and the problem, as `3 1 `.
  static std::string read(const std::string& name) {
    auto file = TraceFile::open(parse_trace_name(name), "http");
    if (!file) return file.error().text();
    std::size_t with_durations = 0;
    while (!file->ended()) {
      const auto problem = file->read(
          [&](const TraceCell& cell) { with_durations += cell.service_times.empty() ? 0U : 1U; });
      if (problem) return problem->text();
    }
    return std::to_string(file->facts().requests) + " " + std::to_string(with_durations);
  }

  std::string folder_;
};

TEST_F(TraceFileTest, IsReadInPieces) {
  std::string text = "at_s,path\n";
  for (int i = 0; i < 100'000; ++i) text += "1,/a/path/of/some/length\n";

  EXPECT_EQ(read(write("long.csv", text)), "100000 0");
}

TEST_F(TraceFileTest, HasTheDurationsBesideIt) {
  const std::string counts = write("invocations_per_function_md.anon.d01.csv",
                                   "HashOwner,HashApp,HashFunction,Trigger,1,2\n"
                                   "o,a,f,http,1,2\n");
  EXPECT_EQ(read(counts), "3 0");

  const std::string durations = "function_durations_percentiles.anon.d01.csv";
  write(durations,
        "HashOwner,HashApp,HashFunction,percentile_Average_0,percentile_Average_1,"
        "percentile_Average_25,percentile_Average_50,percentile_Average_75,percentile_Average_99,"
        "percentile_Average_100\no,a,f,1,2,3,4,5,6,7\n");
  EXPECT_EQ(read(counts), "3 2");
  EXPECT_EQ(read(counts + ":azure2019"), "3 2");

  write(durations, "something else\n");
  EXPECT_TRUE(read(counts).starts_with("'" + folder_ + "/" + durations + "', line 1: "));
}

TEST_F(TraceFileTest, ProblemsNameTheFileAndTheLine) {
  const std::string path = write("a.csv", "when\n1\n");

  EXPECT_TRUE(read(path).starts_with("'" + path + "', line 1: no known format begins with"));
  EXPECT_EQ(read(folder_ + "/none"),
            "cannot read '" + folder_ + "/none'; check the path of the trace");
  EXPECT_EQ(read(folder_), "cannot read '" + folder_ + "'; check the path of the trace");
}

}  // namespace
}  // namespace sluice::loadgen
