#include "load/io/trace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <zlib.h>

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

  std::string pack(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    gzFile_s* const file = gzopen(path.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path;
  }

  // Requests, cells with durations, and the problem, as `3 1 `.
  static std::string read(const std::string& name) {
    auto file = TraceFile::open(parse_trace_name(name), {});
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

TEST_F(TraceFileTest, IsUnpacked) {
  std::string text = "at_s,path\n";
  for (int i = 0; i < 100'000; ++i) text += "1,/a/path/of/number/" + std::to_string(i) + "\n";
  const std::string packed = pack("long.csv.gz", text);

  EXPECT_EQ(read(packed), "100000 0");
  EXPECT_EQ(read(packed + ":csv"), "100000 0");
}

// Goal: a file that was cut is no shorter trace. Method: cut in the header of gzip, in the middle,
// and in the sum at the end.
TEST_F(TraceFileTest, NamesAFileThatEndsInTheMiddleOfWhatGzipWrote) {
  std::string text = "at_s\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  const std::string packed = pack("a.csv.gz", text);
  const auto size = std::filesystem::file_size(packed);

  for (const auto left : {size - 1, size - 8, size / 2, std::uintmax_t{12}}) {
    std::filesystem::resize_file(packed, left);
    EXPECT_EQ(read(packed), "'" + packed +
                                "' ends in the middle of what gzip wrote; give the whole "
                                "file")
        << left;
  }
}

TEST_F(TraceFileTest, NamesAFileThatGzipDidNotWriteSo) {
  std::string text = "at_s\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
  const std::string packed = pack("a.csv.gz", text);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(packed));
  {
    std::fstream file{packed, std::ios::binary | std::ios::in | std::ios::out};
    file.seekp(size - 8);
    file.put('!');
  }

  EXPECT_EQ(
      read(packed),
      "'" + packed + "' is damaged: it is no longer what gzip wrote; give a whole copy of it");
}

TEST_F(TraceFileTest, ProblemsNameTheFileAndTheLine) {
  const std::string path = write("a.csv", "when\n1\n");

  EXPECT_TRUE(read(path).starts_with("'" + path + "', line 1: no known format begins with"));
  EXPECT_EQ(read(folder_ + "/none"), "cannot read '" + folder_ +
                                         "/none': No such file or directory; check the path of the "
                                         "trace");
  EXPECT_EQ(read(folder_),
            "cannot read '" + folder_ + "': Is a directory; check the path of the trace");
  EXPECT_EQ(read(path + ":cvs"), "no format has the name 'cvs', and no file is '" + path +
                                     ":cvs'; formats are csv, combined, common, jsonl, har, "
                                     "azure2019, azure2021, sluice");
}

}  // namespace
}  // namespace sluice::loadgen
