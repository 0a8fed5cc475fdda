#include "load/core/trace_summary.h"

#include <gtest/gtest.h>

#include "load/core/trace_parser.h"
#include <string>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

struct Survey {
  TraceFacts facts;
  TraceSummary summary;

  [[nodiscard]] std::string text() const { return trace_text(facts, summary); }

  [[nodiscard]] std::string problem(Replay replay) const {
    const auto problem = complete(replay, facts, summary);
    return problem ? problem->text() : "";
  }
};

Survey surveyed(std::string_view text) {
  Survey out;
  TraceParser parser{{}};
  const auto sink = [&out](const TraceCell& cell) { out.summary.add(cell); };
  EXPECT_FALSE(parser.feed(text, sink));
  EXPECT_FALSE(parser.finish(sink));
  out.facts = parser.facts();
  return out;
}

constexpr const char* kAzure =
    "HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,0,3,1\no,a,g,http,2,4,0\n"
    "o,a,h,timer,9,9,9\n";

TEST(TraceSummary, ListsWhatWasUnderstoodAndWhatWasSkipped) {
  EXPECT_EQ(surveyed("time,method,duration_ms\n2026-11-20T14:03:12.000Z,GET,7\n"
                     "2026-11-20T14:03:14.250Z,POST,\nsoon,GET,1\n2026-11-20T14:03:14.000Z,GET,1\n")
                .text(),
            "format      csv\n"
            "requests    3\n"
            "span        2.3 s from 2026-11-20T14:03:12.000Z\n"
            "busiest     2 requests in 1 s, from 2 s on\n"
            "resolution  exact\n"
            "durations   of 2 requests\n"
            "left out    by sluice load --replay: 1 request with other methods than GET, HEAD and "
            "OPTIONS\n"
            "skipped     1 line without a valid time (the first: 4)\n");
}

TEST(TraceSummary, CountsWhatIsRoughByItsCells) {
  EXPECT_EQ(surveyed(kAzure).text(),
            "format      azure2019\n"
            "requests    10\n"
            "span        180 s\n"
            "busiest     7 requests in 60 s, from 60 s on\n"
            "resolution  60 s\n"
            "durations   none\n"
            "skipped     1 line with another trigger (the first: 4)\n");
  EXPECT_NE(
      surveyed("at_s\n90\n90\n91\n").text().find("span        92 s, the first request after 90 s"),
      std::string::npos);
}

TEST(TraceSummary, JoinsFunctionsIntoPeriods) {
  const auto periods = surveyed(kAzure).summary.periods();

  ASSERT_EQ(periods.size(), 3U);
  EXPECT_EQ(periods[0].count, 2U);
  EXPECT_EQ(periods[1].count, 7U);
  EXPECT_EQ(periods[1].at, 60s);
  EXPECT_EQ(periods[1].length, 60s);
  EXPECT_EQ(periods[2].count, 1U);
}

TEST(TraceSummary, KeepsTheBusiestSecondOfALongTrace) {
  TraceSummary summary;
  TraceCell cell;
  for (int second = 0; second < 10'000; ++second) {
    cell.at = second * 1s;
    cell.count = second == 5 ? 3 : 1;
    summary.add(cell);
  }

  EXPECT_EQ(summary.busiest().at, 5s);
  EXPECT_EQ(summary.busiest().requests, 3U);
  EXPECT_EQ(summary.requests(), 10'002U);
  EXPECT_EQ(summary.periods().size(), TraceSummary::kPeriodsKept);
}

TEST(Replay, HasWhatItsTraceHas) {
  const Survey trace = surveyed("at_s,method\n1,GET\n2,POST\n3,GET\nx,GET\n");
  Replay replay{.speed = 2, .times = 3};

  ASSERT_FALSE(complete(replay, trace.facts, trace.summary));

  EXPECT_EQ(replay.requests, 6U);
  EXPECT_EQ(replay.left_out, 1U);
  EXPECT_EQ(replay.length, 2s);
  EXPECT_EQ(replay.resolution, 1s);
  EXPECT_EQ(replay.skipped, "1 line without a valid time (the first: 5)");
}

TEST(Replay, RefusesWhatCannotBeSent) {
  EXPECT_TRUE(surveyed("at_s,method\n1,POST\n").problem({}).starts_with("--replay has no request"));

  const Survey day = surveyed("at_s\n1\n86399\n");
  EXPECT_EQ(day.problem({}), "");
  EXPECT_EQ(day.problem({.speed = 0.9}),
            "--replay lasts longer than a day; give a shorter trace or a higher --speed");

  std::string crowd = "at_s\n";
  for (int i = 0; i < 1000; ++i) crowd += "1.125\n";
  const Survey busy = surveyed(crowd);
  EXPECT_EQ(busy.problem({.speed = 1000}), "");
  EXPECT_EQ(busy.problem({.speed = 1, .times = 1000}), "");
  EXPECT_EQ(busy.problem({.speed = 2, .times = 1000}),
            "--replay has more than 1000000 requests in a second; give a lower --times or --speed");
}

}  // namespace
}  // namespace sluice::loadgen
