#include "load/io/trace_convert.h"

#include <gtest/gtest.h>

#include "load/core/replay.h"
#include "load/core/trace_parser.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

class TraceConvertTest : public ::testing::Test {
 protected:
  TraceConvertTest() {
    std::string pattern = testing::TempDir() + "convert-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }

  ~TraceConvertTest() override { std::filesystem::remove_all(folder_); }

  // What becomes of a trace; empty: the problem is in problem_.
  std::string converted(const std::string& text, const TraceOptions& options = {}) {
    const std::string path = folder_ + "/trace";
    std::ofstream{path, std::ios::binary} << text;
    std::string out;
    const auto done = convert_trace({path, options.format}, options, [&](std::string_view bytes) {
      out += bytes;
      return std::optional<Problem>{};
    });
    problem_ = done ? "" : done.error().text();
    return done ? out : "";
  }

  std::string folder_;
  std::string problem_;
};

TEST_F(TraceConvertTest, WritesEveryColumnInTheOrderOfTime) {
  EXPECT_EQ(converted("time,service,path,method,host,duration_ms,status,body_bytes\n"
                      "2026-11-20T14:03:13.000Z,s,\"/a,\"\"b\"\"\",GET,h,12.5,200,7\n"
                      "2026-11-20T14:03:15.000Z,,,,,,,\n2026-11-20T14:03:14.500001Z,,,,,,,\n"),
            "time,method,path,host,service,duration_ms,status,body_bytes\n"
            "2026-11-20T14:03:13.000000Z,GET,\"/a,\"\"b\"\"\",h,s,12.500000,200,7\n"
            "2026-11-20T14:03:14.500001Z,,,,,,,\n2026-11-20T14:03:15.000000Z,,,,,,,\n");
  EXPECT_EQ(converted("app,func,end_timestamp,duration\na,f,80,60\na,g,30,0.0781\n"),
            "at_s,method,path,host,service,duration_ms,status,body_bytes\n"
            "20.000000,,,,f,60000.000000,,\n"
            "29.921900,,,,g,78.100000,,\n");
}

// Every request of a trace, as a replay sends it.
std::vector<PlannedRequest> replayed(const std::string& text) {
  Replay replay;
  TraceParser parser{{}};
  std::vector<TraceCell> cells;
  const auto keep = [&cells](const TraceCell& cell) { cells.push_back(cell); };
  EXPECT_FALSE(parser.feed(text, keep));
  EXPECT_FALSE(parser.finish(keep));
  replay.format = parser.facts().format;
  ReplaySchedule schedule{replay, 1, [&cells](const CellSink& sink) {
                            for (const TraceCell& cell : cells) sink(cell);
                            return false;
                          }};
  std::vector<PlannedRequest> out;
  for (; schedule.next(); schedule.take()) out.push_back(*schedule.next());
  return out;
}

// Goal: nothing that a replay uses is lost. Method: replay a log of whole seconds and what it was
// converted to, in which its requests are spread over their seconds.
TEST_F(TraceConvertTest, IsReplayedAsTheTraceItself) {
  std::string log;
  for (int i = 0; i < 500; ++i) {
    const std::string second{static_cast<char>('0' + i / 100), static_cast<char>('0' + i % 10)};
    log += "h - - [20/Nov/2026:14:03:" + second + " +0000] \"" + (i % 3 == 0 ? "HEAD" : "GET") +
           " / HTTP/1.1\" 200 0\n";
  }
  const auto wanted = replayed(log);
  const auto got = replayed(converted(log));

  ASSERT_EQ(got.size(), wanted.size());
  ASSERT_EQ(got.size(), 500U);
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].as, wanted[i].as) << i;
    // Where `at` counts from is the first request here, and the start of its second there.
    EXPECT_LE(std::chrono::abs((got[i].at - got[0].at) - (wanted[i].at - wanted[0].at)), 2us) << i;
  }
}

TEST_F(TraceConvertTest, SpreadsTheCountsOfFunctionsOverTheirMinutesInOrder) {
  const std::string csv = converted(
      "HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,0,2\no,a,g,http,1,1\n"
      "o,a,t,timer,9,9\n");

  EXPECT_EQ(problem_, "");
  TraceParser parser{{}};
  std::string seen;
  Duration before{0};
  const auto note = [&](const TraceCell& cell) {
    EXPECT_GE(cell.at, before);
    before = cell.at;
    seen += cell.service + std::to_string(cell.at / 1min) + " ";
  };
  EXPECT_FALSE(parser.feed(csv, note));
  EXPECT_FALSE(parser.finish(note));
  EXPECT_EQ(seen.substr(0, 3), "g0 ");
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, "    0111ffgg");
}

TEST_F(TraceConvertTest, EndsWhereNothingCanBeWritten) {
  const std::string path = folder_ + "/trace";
  std::ofstream{path} << "at_s\n1\n2\n";
  const auto done = convert_trace({path, std::nullopt}, {}, [](std::string_view) {
    return std::optional{Problem{"the disk is full", ""}};
  });

  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().text(), "the disk is full");
}

}  // namespace
}  // namespace sluice::loadgen
