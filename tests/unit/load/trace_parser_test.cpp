#include "load/core/trace_parser.h"

#include "tests/unit/load/trace_reading.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TEST(CsvTrace, ReadsEveryColumnInAnyOrder) {
  const Read out = read_in_every_cut(
      "path,at_s,method,host,service,duration_ms,status,body_bytes,user\n"
      "/a,0.125,GET,shop.example,shop,12.5,200,0,me\r\n"
      "\"/b,\"\"c\"\"\",3.5,POST,-,,7,503,64,\"x,y\"\n"
      "/d,4,,,,,,,");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells,
            "125+0 x1 shop shop.example GET /a 12.5ms 200 0B; 3500+0 x1 POST /b,\"c\" 7ms 503 64B; "
            "4000+0 x1 /d");
  EXPECT_EQ(out.facts.format, TraceFormat::csv);
  EXPECT_EQ(out.facts.lines, 4U);
  EXPECT_EQ(out.facts.requests, 3U);
  EXPECT_EQ(out.facts.origin, std::nullopt);
}

TEST(CsvTrace, CountsFromTheFirstDate) {
  const std::string wanted = "0+0 x1; 1500+0 x1";
  for (const char* text :
       {"time\n2026-11-20T14:03:12.000Z\n2026-11-20T15:03:13.5+01:00\n",
        "time\n1795183392.000\n1795183393.5\n", "time\n1795183392000\n1795183393500\n"}) {
    const Read out = read_in_every_cut(text);
    EXPECT_EQ(out.cells, wanted) << text << out.problem;
    EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'392s}) << text;
  }
}

TEST(CsvTrace, TakesTheFinestTimeAsItsResolution) {
  EXPECT_EQ(read("at_s\n1\n2\n").cells, "1000+1000 x1; 2000+1000 x1");
  EXPECT_EQ(read("at_s\n1\n2.5\n").cells, "1000+100 x1; 2500+100 x1");
  EXPECT_EQ(read("at_s\n1\n2.25\n").cells, "1000+10 x1; 2250+10 x1");
  EXPECT_EQ(read("at_s\n1\n2.125\n").cells, "1000+0 x1; 2125+0 x1");
  EXPECT_EQ(read("time\n2026-11-20T14:03:12Z\n").cells, "0+1000 x1");
}

TEST(CsvTrace, LooksAtAThousandLinesForItsResolution) {
  std::string text = "at_s\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";

  EXPECT_TRUE(read(text + "1.125\n").cells.ends_with("1000+1000 x1; 1125+1000 x1"));
}

TEST(CsvTrace, LeavesOutAByteOrderMarkAndEmptyLines) {
  const Read out = read_in_every_cut(
      "\xEF\xBB\xBF"
      "at_s,path\r\n\r\n\n1.000,/\r\n\n");

  EXPECT_EQ(out.cells, "1000+0 x1 /");
  EXPECT_EQ(out.skipped(), "");
}

// Each row: a line below `at_s,duration_ms,status,body_bytes`, and why it is skipped.
TEST(CsvTrace, CountsWhatItCannotUseWithTheFirstLine) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"1.5,1,200", "other fields"},        {"1.5,1,200,0,0", "other fields"},
      {"\"1.5,1,200,0", "other fields"},    {"\"1.5\"x,1,200,0", "other fields"},
      {",1,200,0", "valid time"},           {"-,1,200,0", "valid time"},
      {"-1,1,200,0", "valid time"},         {"+1,1,200,0", "valid time"},
      {"1e3,1,200,0", "valid time"},        {"1.,1,200,0", "valid time"},
      {".5,1,200,0", "valid time"},         {"nan,1,200,0", "valid time"},
      {"7258118400,1,200,0", "valid time"}, {"99999999999999999999,1,200,0", "valid time"},
      {"1.5,x,200,0", "a figure"},          {"1.5,-1,200,0", "a figure"},
      {"1.5,86400001,200,0", "a figure"},   {"1.5,1,99,0", "a figure"},
      {"1.5,1,600,0", "a figure"},          {"1.5,1,200,-1", "a figure"},
      {"1.5,1,200,1.5", "a figure"}};

  for (const auto& [line, why] : rows) {
    const Read out = read_in_every_cut("at_s,duration_ms,status,body_bytes\n1.125,1,200,0\n" +
                                       std::string{line} + "\n");
    EXPECT_EQ(out.facts.requests, 1U) << line;
    EXPECT_TRUE(out.skipped().starts_with("1 line with")) << line << ": " << out.skipped();
    EXPECT_NE(out.skipped().find(why), std::string::npos) << line << ": " << out.skipped();
    EXPECT_TRUE(out.skipped().ends_with("(the first: 3)")) << line << ": " << out.skipped();
  }
}

TEST(CsvTrace, KeepsTheOrderWithinTenSeconds) {
  const Read out = read_in_every_cut("at_s\n20.000\n10.001\n10\n9.999\n19\n");

  EXPECT_EQ(out.cells, "20000+0 x1; 10001+0 x1; 10000+0 x1; 19000+0 x1");
  EXPECT_EQ(out.skipped(), "1 line more than 10 s before a line above (the first: 5)");
}

TEST(CsvTrace, BeginsAtZeroWithALineBeforeTheFirst) {
  EXPECT_EQ(read("time\n1795183392.000\n1795183391.000\n").cells, "0+0 x1; 0+0 x1");
}

constexpr const char* kAzureHeader = "HashOwner,HashApp,HashFunction,Trigger,1,2,3,4\n";

TEST(AzureTrace, ReadsAMinuteOfAFunctionAsACell) {
  const Read out = read_in_every_cut(std::string{kAzureHeader} +
                                     "o1,a1,f1,http,0,3,0,2\no1,a1,f2,timer,1,1,1,1\n"
                                     "o1,a2,f3,http,7,0,0,0\n");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells, "60000+60000 x3 f1; 180000+60000 x2 f1; 0+60000 x7 f3");
  EXPECT_EQ(out.facts.format, TraceFormat::azure2019);
  EXPECT_EQ(out.facts.requests, 12U);
  EXPECT_EQ(out.skipped(), "1 line with another trigger (the first: 3)");
}

TEST(AzureTrace, ReadsTheFunctionsOfTheWantedTrigger) {
  const std::string text =
      std::string{kAzureHeader} + "o1,a1,f1,http,1,0,0,0\no1,a1,f2,timer,2,0,0,0\n";

  EXPECT_EQ(read(text, {.trigger = "timer"}).cells, "0+60000 x2 f2");
  EXPECT_EQ(read(text, {.trigger = ""}).cells, "0+60000 x1 f1; 0+60000 x2 f2");
}

TEST(AzureTrace, SkipsALineAsAWhole) {
  for (const char* line : {"o,a,f,http,1,1,1", "o,a,f,http,1,1,1,1,1", "o,a,f,http,1,1,1,x",
                           "o,a,f,http,1,1,1,-1", "o,a,f,http,1,1,1,", "o,a,f,http,1,1,1,1.5",
                           "o,a,f,http,1,1,1,60000001", "\"o,a,f,http,1,1,1,1"}) {
    const Read out =
        read_in_every_cut(std::string{kAzureHeader} + "o,a,g,http,1,0,0,0\n" + line + "\n");
    EXPECT_EQ(out.cells, "0+60000 x1 g") << line;
    EXPECT_TRUE(out.skipped().ends_with("(the first: 3)")) << line << ": " << out.skipped();
  }
}

TEST(AzureTrace, HasTheDurationsOfItsFunctions) {
  AzureDurations durations;
  const std::string text =
      "HashOwner,HashApp,HashFunction,Average,Count,Minimum,Maximum,percentile_Average_0,"
      "percentile_Average_1,percentile_Average_25,percentile_Average_50,percentile_Average_75,"
      "percentile_Average_99,percentile_Average_100\n"
      "o1,a1,f1,50,9,1,900,1,2,10,40,80,700,900\n"
      "o1,a1,f2,50,9,1,900,1,2,x,40,80,700,900\n";
  for (const char c : text) EXPECT_FALSE(durations.feed({&c, 1}));
  EXPECT_FALSE(durations.finish());
  EXPECT_EQ(durations.skipped(), 1U);

  const Read out =
      read(std::string{kAzureHeader} + "o1,a1,f1,http,1,0,0,0\no1,a1,f2,http,1,0,0,0\n",
           {.durations = &durations});

  EXPECT_EQ(out.cells, "0+60000 x1 f1 p50=40ms; 0+60000 x1 f2");
  ServiceTimes times;
  durations.find("o1,a1,f1", times);
  EXPECT_EQ(times.at(0), 1ms);
  EXPECT_EQ(times.at(0.125 + 0.005), 6ms);
  EXPECT_EQ(times.at(1), 900ms);
}

TEST(AzureDurations, RefusesAnotherFile) {
  for (const char* text : {"", "time\n", "HashOwner,HashApp,HashFunction,Average\n",
                           "HashOwner,HashApp,HashFunction,\"percentile_Average_0\n"}) {
    AzureDurations durations;
    auto problem = durations.feed(text);
    if (!problem) problem = durations.finish();
    EXPECT_TRUE(problem) << text;
  }
}

TEST(Azure2021Trace, BeginsWhenTheInvocationHadNotEnded) {
  const Read out = read_in_every_cut(
      "app,func,end_timestamp,duration\n"
      "a1,f1,79.42153692245483,0.078\na1,f2,80,60\na2,f3,80.5,1e-03\na2,f3,81,100\n");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells,
            "79343.537+0 x1 f1 78ms; 20000+0 x1 f2 60000ms; 80499+0 x1 f3 1ms; 0+0 x1 f3 100000ms");
  EXPECT_EQ(out.facts.format, TraceFormat::azure2021);
  EXPECT_EQ(out.facts.origin, std::nullopt);
}

TEST(Azure2021Trace, CountsWhatItCannotUse) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"a,f,1", "other fields"},      {"a,f,1,2,3", "other fields"},
      {"a,f,,1", "valid time"},       {"a,f,-1,1", "valid time"},
      {"a,f,1e3,1", "valid time"},    {"a,f,9000,", "a figure"},
      {"a,f,9000,-1", "a figure"},    {"a,f,9000,nan", "a figure"},
      {"a,f,9000,86401", "a figure"}, {"a,f,5000,1", "more than an hour before"}};

  for (const auto& [line, why] : rows) {
    const Read out = read_in_every_cut("app,func,end_timestamp,duration\na,f,8600,0\n" +
                                       std::string{line} + "\n");
    EXPECT_EQ(out.facts.requests, 1U) << line;
    EXPECT_NE(out.skipped().find(why), std::string::npos) << line << ": " << out.skipped();
  }
}

constexpr const char* kRecordingHead =
    R"({"at_ns":1000000000000,"format":"sluice-recording/1","version":"1.0.0"})"
    "\n";

TEST(RecordingTrace, ReadsASecondOfTrafficAsACell) {
  const Read out = read_in_every_cut(
      std::string{kRecordingHead} +
      R"({"arrivals":3,"at_ns":1001000000000,"held":1,"in_flight":2,"service_ms":[],"type":"traffic"}
{"type":"eval","at_ns":1001500000000,"arrivals":"x"}
{"type":"traffic","at_ns":1002000000000,"arrivals":0,"service_ms":[[20,1],[40.5,3]]}
{"type":"traffic","at_ns":1003000000000,"arrivals":5,"service_ms":[]}
)");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells, "0+1000 x3; 2000+1000 x5 p50=26.833ms");
  EXPECT_EQ(out.facts.format, TraceFormat::sluice);
  EXPECT_EQ(out.facts.origin, TimePoint{1000s});
  EXPECT_EQ(out.skipped(), "");
}

TEST(RecordingTrace, ReadsTheTenthsThatItHas) {
  const Read out = read_in_every_cut(
      std::string{kRecordingHead} +
      R"({"type":"traffic","at_ns":1001000000000,"arrivals":6,"service_ms":[[100,4]],"tenths":[1,0,0,3,0,0,0,0,0,0]}
{"type":"eval","at_ns":1001250000000,"trigger":"tick"}
{"type":"eval","at_ns":1001340000000,"trigger":"poke"}
{"type":"traffic","at_ns":1002000000000,"arrivals":3,"service_ms":[],"tenths":[0,0,0,2,0,0,0,0,0,0]}
{"type":"traffic","at_ns":1003000000000,"arrivals":1,"service_ms":[],"tenths":[0,0,0,2,0,0,0,0,0,0]}
)");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.skipped(), "");
  // Two were still there at the end of the first second; the third had one that is counted twice.
  EXPECT_EQ(out.cells,
            "0+100 x1 p50=100ms; 300+100 x3 p50=100ms; 900+100 x2 p50=100ms; "
            "1340+0 x1 p50=100ms; 1340+60 x1 p50=100ms; 1900+100 x1 p50=100ms; "
            "2000+1000 x1 p50=100ms");
}

TEST(RecordingTrace, RequestsTakeTogetherWhatTheyTook) {
  const Read out = read_in_every_cut(
      std::string{kRecordingHead} +
      R"({"type":"traffic","at_ns":1001000000000,"arrivals":4,"service_ms":[[100,4]],"service_total_ns":360000000}
)");

  EXPECT_EQ(out.cells, "0+1000 x4 p50=90ms");
}

TEST(RecordingTrace, CountsWhatItCannotUse) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {R"({"type":"traffic","at_ns":1001000000000,"arri)", "other fields"},
      {"plain", "other fields"},
      {R"({"type":"traffic","arrivals":3})", "valid time"},
      {R"({"type":"traffic","at_ns":-1,"arrivals":3})", "valid time"},
      {R"({"type":"traffic","at_ns":1.5e9,"arrivals":3})", "valid time"},
      {R"({"type":"traffic","at_ns":9223372036854775807,"arrivals":3})", "valid time"},
      {R"({"type":"traffic","at_ns":1001000000000})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":-1})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":60000001})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"service_ms":[[1]]})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"tenths":["x"]})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"tenths":[0,0,0,0,0,0,0,0,0,0,0]})",
       "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"service_ms":[[1,2,3]]})",
       "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"service_ms":[[-1,2]]})",
       "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"service_ms":[[1,0]]})", "a figure"},
      {R"({"type":"traffic","at_ns":1001000000000,"arrivals":1,"service_ms":7})", "a figure"},
      {R"({"type":"traffic","at_ns":980000000000,"arrivals":1})", "before a line above"}};

  for (const auto& [line, why] : rows) {
    const Read out = read_in_every_cut(std::string{kRecordingHead} +
                                       R"({"type":"traffic","at_ns":1000000000000,"arrivals":2})"
                                       "\n" +
                                       line);
    EXPECT_EQ(out.cells, "0+1000 x2") << line;
    EXPECT_NE(out.skipped().find(why), std::string::npos) << line << ": " << out.skipped();
  }
}

TEST(RecordingTrace, PassesOverALongLineOfState) {
  const std::string windows(kTraceLineMax, '1');
  const Read out =
      read_in_every_cut(R"({"format":"sluice-recording/1","handed":[)" + windows + "]}\n" +
                        R"({"type":"take_over","handed":[)" + windows + "]}\n" +
                        R"({"type":"traffic","at_ns":1000000000000,"arrivals":2})");

  EXPECT_EQ(out.cells, "0+1000 x2") << out.problem;
  EXPECT_EQ(out.skipped(), "");
}

TEST(TraceParser, RefusesALineWithoutAnEndAsSoonAsItIsTooLong) {
  for (const std::string begin : {"", "at_s,path\n"}) {
    TraceParser parser{TraceOptions{}};
    const auto problem =
        parser.feed(begin + std::string(2 * kTraceLineMax, '\0'), [](const TraceCell&) {});

    ASSERT_TRUE(problem) << begin;
    EXPECT_NE(problem->what.find("it is longer than 64 KiB"), std::string::npos) << problem->what;
  }
}

TEST(TraceParser, RefusesALineAbove64KiB) {
  const std::string most(kTraceLineMax - 2, 'x');

  EXPECT_EQ(read_in_every_cut("at_s,path\n1," + most + "\n").facts.requests, 1U);
  EXPECT_EQ(read_in_every_cut("at_s,path\n1.5,x\n1," + most + "x\n").problem,
            "line 3: it is longer than 64 KiB; give a trace of shorter lines");
  EXPECT_EQ(read_in_every_cut(std::string(kTraceLineMax + 1, 'x')).problem,
            "line 1: it is longer than 64 KiB; give a trace of shorter lines");
}

// Each row: a whole trace, and its problem.
TEST(TraceParser, RefusesWhatIsNoTrace) {
  const std::vector<std::pair<const char*, const char*>> rows{
      {"", "no request in it; give a trace of requests"},
      {"\n\n", "no request in it"},
      {"at_s\n", "no request in it"},
      {"at_s\nx\n\ny\n",
       "no request in it: 2 lines without a valid time (the first: 2); check these lines"},
      {"HashOwner,HashApp,HashFunction,Trigger,1,2\no,a,f,http,0,0\n", "no request in it"},
      {"when,path\n1,/\n", "line 1: no known format begins with 'when,path'; give csv with"},
      {"\x1f\x8b\x08", "line 1: it is compressed; unpack it first, with gunzip"},
      {"\x1b[2J", "line 1: no known format begins with '?[2J'"},
      {"time,at_s\n1,2\n", "line 1: the header has both 'time' and 'at_s'; keep one of them"},
      {"at_s,path,path\n", "line 1: the header has 'path' twice; keep one of the columns"},
      {"HashOwner,HashApp,HashFunction,Trigger,1,3\n", "line 1: the header is not HashOwner,"},
      {R"({"format":"sluice-recording/2"})",
       "line 1: a recording of the format sluice-recording/2; this sluice reads "}};

  for (const auto& [text, wanted] : rows) {
    const Read out = read_in_every_cut(text);
    EXPECT_TRUE(out.problem.starts_with(wanted)) << text << ": " << out.problem;
  }
}

TEST(TraceParser, TakesAFormatThatIsNamed) {
  EXPECT_EQ(read("at_s\n1.125\n", {.format = TraceFormat::csv}).cells, "1125+0 x1");
  EXPECT_TRUE(read("at_s\n1\n", {.format = TraceFormat::azure2019})
                  .problem.starts_with("line 1: it looks like csv, not like azure2019; leave out "
                                       ":azure2019 or give another file"));
  EXPECT_TRUE(read("1\n", {.format = TraceFormat::azure2019})
                  .problem.starts_with("line 1: the header is not HashOwner,"));
  EXPECT_TRUE(read("1\n", {.format = TraceFormat::sluice})
                  .problem.starts_with("line 1: it is not the first line of a recording"));
  EXPECT_TRUE(read("when\n1\n", {.format = TraceFormat::csv})
                  .problem.starts_with("line 1: no column 'time' or 'at_s' in 'when'"));
}

TEST(TraceName, EndsWithAFormatOrIsAFile) {
  const auto named = [](std::string_view text) {
    const TraceName name = parse_trace_name(text);
    return name.file + "|" + std::string{name.format ? name_of(*name.format) : ""};
  };

  EXPECT_EQ(named("a.csv"), "a.csv|");
  EXPECT_EQ(named("a.csv:csv"), "a.csv|csv");
  EXPECT_EQ(named("day:1:azure2019"), "day:1|azure2019");
  EXPECT_EQ(named("a:sluice"), "a|sluice");
  EXPECT_EQ(named("a.log.gz:combined"), "a.log.gz|combined");
  EXPECT_EQ(named("a:log"), "a:log|");
  EXPECT_EQ(named("a:other"), "a:other|");
  EXPECT_EQ(named(":csv"), ":csv|");
}

TEST(TraceName, DurationsLieBesideTheCounts) {
  EXPECT_EQ(durations_file_of("d/invocations_per_function_md.anon.d01.csv"),
            "d/function_durations_percentiles.anon.d01.csv");
  EXPECT_EQ(durations_file_of("invocations_per_function.csv"),
            "function_durations_percentiles.csv");
  EXPECT_EQ(durations_file_of("d/day1.csv"), "");
}

TEST(ServiceTimes, LieInLinesBetweenTheirPoints) {
  ServiceTimes times;
  EXPECT_TRUE(times.empty());
  times.add(0.25, 10ms);
  times.add(0.5, 30ms);
  times.add(0.75, 20ms);

  EXPECT_EQ(times.at(0), 10ms);
  EXPECT_EQ(times.at(0.375), 20ms);
  EXPECT_EQ(times.at(0.5), 30ms);
  EXPECT_EQ(times.at(0.7), 30ms);
  EXPECT_EQ(times.at(1), 30ms);
}

}  // namespace
}  // namespace sluice::loadgen
