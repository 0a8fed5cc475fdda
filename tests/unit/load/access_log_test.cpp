#include "tests/unit/load/trace_reading.h"

#include <gtest/gtest.h>

#include "load/core/log_format.h"
#include <string>
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TraceOptions with_format(const char* text) {
  auto format = LogFormat::parse(text);
  EXPECT_TRUE(format) << text;
  TraceOptions options;
  if (format) options.log_format = *std::move(format);
  return options;
}

TEST(AccessLog, ReadsTheLinesOfNginxAndApache) {
  const Read out = read_in_every_cut(
      "10.0.0.1 - - [20/Nov/2026:14:03:12 +0000] \"GET /a?b=1 HTTP/1.1\" 200 612 \"-\" \"curl/8\"\n"
      "10.0.0.2 - me [20/Nov/2026:15:03:13 +0100] \"POST /b HTTP/2.0\" 503 0 \"http://x/\" "
      "\"a \\\"quoted\\\" agent\"\n"
      "::1 - - [20/Nov/2026:14:03:12 +0000] \"GET /q=\\\"\\x61\\\" HTTP/1.1\" 200 0 \"-\" \"-\"\n"
      "::1 - - [20/Nov/2026:14:03:12 +0000] \"HEAD http://shop.example/c HTTP/1.1\" 499 0 \"-\" "
      "\"-\"\n");

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells,
            "0+1000 x1 GET /a?b=1 200; 1000+1000 x1 POST /b 503; "
            "0+1000 x1 GET /q=\"a\" 200; 0+1000 x1 shop.example HEAD /c 499");
  EXPECT_EQ(out.facts.format, TraceFormat::combined);
  EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'392s});
}

TEST(AccessLog, ReadsTheCommonFormat) {
  const char* text =
      "h i u [10/Oct/2000:13:55:36 -0700] \"GET /apache_pb.gif HTTP/1.0\" 200 2326\n";
  const Read out = read_in_every_cut(text);

  EXPECT_EQ(out.cells, "0+1000 x1 GET /apache_pb.gif 200");
  EXPECT_EQ(out.facts.format, TraceFormat::common);
  EXPECT_EQ(out.facts.origin, TimePoint{971'211'336s});
}

TEST(AccessLog, ReadsTheCommonPartOfACombinedOneIfAsked) {
  const char* text = "h - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326 \"-\" \"-\"\n";

  EXPECT_EQ(read(text, {.format = TraceFormat::common}).cells, "0+1000 x1 GET / 200");
}

// Each row: what stands in the brackets and quotes of a line, and why it is skipped.
TEST(AccessLog, CountsWhatIsNoRequest) {
  const std::vector<std::pair<std::string, const char*>> rows{
      {R"([20/Nov/2026:14:03:12 +0000] "\x16\x03\x01\x02" 400 0)", "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "-" 408 0)", "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "" 400 0)", "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "GET nowhere HTTP/1.1" 400 0)", "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "GET /a\x0db HTTP/1.1" 400 0)", "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "GET gopher://x/ HTTP/1.1" 400 0)",
       "without a request of HTTP"},
      {R"([20/Nov/2026:14:03:12 +0000] "GET / HTTP/1.1)", "other fields"},
      {R"(14:03:12 GET / 200)", "other fields"},
      {R"([20/Nov/1926:14:03:12 +0000] "GET / HTTP/1.1" 200 0)", "valid time"},
      {R"([31/Feb/2026:14:03:12 +0000] "GET / HTTP/1.1" 200 0)", "valid time"},
      {R"([20/Nox/2026:14:03:12 +0000] "GET / HTTP/1.1" 200 0)", "valid time"},
      {R"([20/Nov/2026:14:03:12 +00] "GET / HTTP/1.1" 200 0)", "valid time"},
      {R"([-] "GET / HTTP/1.1" 200 0)", "valid time"},
      {R"([20/Nov/2026:14:03:00 +0000] "GET / HTTP/1.1" 200 0)", "10 s before a line above"}};

  for (const auto& [rest, why] : rows) {
    const Read out = read_in_every_cut(
        "h - - [20/Nov/2026:14:03:12 +0000] \"GET / HTTP/1.1\" 200 0\nh - - " + rest + "\n");
    EXPECT_EQ(out.facts.requests, 1U) << rest;
    EXPECT_NE(out.skipped().find(why), std::string::npos) << rest << ": " << out.skipped();
  }
}

TEST(AccessLog, MayBeginWithALineThatIsNoRequest) {
  const Read out = read_in_every_cut(
      "h - - [20/Nov/2026:14:03:12 +0000] \"\\x16\\x03\" 400 0 \"-\" \"-\"\n"
      "h - - [20/Nov/2026:14:03:13 +0000] \"GET / HTTP/1.1\" 200 0 \"-\" \"-\"\n");

  EXPECT_EQ(out.facts.format, TraceFormat::combined);
  EXPECT_EQ(out.cells, "0+1000 x1 GET / 200");
}

TEST(LogFormat, ReadsWhatItsVariablesName) {
  const Read out = read_in_every_cut(
      "shop.example:443 2026-11-20T14:03:12+00:00 PUT /x 201 64 0.250 shop\n",
      with_format("$host:$port $time_iso8601 $request_method ${request_uri} $status "
                  "$content_length $request_time $service"));

  // The line was written when the request had ended.
  EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'391'750ms});
  EXPECT_EQ(out.cells, "0+1000 x1 shop shop.example PUT /x 250ms 201 64B");
  EXPECT_EQ(out.facts.format, TraceFormat::log);
}

TEST(LogFormat, ReadsTheLogOfHaproxy) {
  const Read out = read_in_every_cut(
      "Nov 20 14:03:12 host haproxy[7]: 10.0.1.2:33317 [20/Nov/2026:14:03:12.655] http-in "
      "static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "
      "\"GET /index.html HTTP/1.1\"\n",
      with_format("$client [$time_local] $frontend $backend $a/$b/$c/$d/$duration_ms $status $rest "
                  "\"$request\""));

  EXPECT_EQ(out.cells, "0+0 x1 GET /index.html 109ms 200") << out.problem;
  EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'392'655ms});
}

// Goal: a long request is not taken for one that is out of order, since its line comes late.
TEST(LogFormat, TakesRequestsThatLastedLong) {
  const TraceOptions options = with_format("$msec $request_time");

  EXPECT_EQ(
      read("1795183392.000 0.000\n1795183452.000 60.000\n1795183453.000 0.001\n", options).cells,
      "0+0 x1 0ms; 0+0 x1 60000ms; 60999+0 x1 1ms");
  EXPECT_EQ(
      read("1795183392.000 0.000\n1795190000.000 1\n1795190001.000 3700.000\n", options).skipped(),
      "1 line more than an hour before one above (the first: 3)");
}

TEST(LogFormat, RefusesWhatCannotBeRead) {
  const std::vector<std::pair<std::string, const char*>> rows{
      {"", "no time; use $time_local, $time_iso8601 or $msec for it"},
      {"$request $status", "no time"},
      {"$time_local $msec", "two times"},
      {"$time_local $request_time $duration_ms", "two variables for one figure"},
      {"$time_local \"$request\" $request_method", "two variables for one figure"},
      {"$time_local$status", "nothing is between $time_local and the variable behind it"},
      {"$time_local ${status", "no name of a variable at '${status'"},
      {"$time_local $", "no name of a variable at '$'"},
      {"$time_local $ x", "no name of a variable at '$ x'"},
      {std::string(4097, 'x'), "it is longer than 4 KiB"}};

  for (const auto& [text, wanted] : rows) {
    const auto format = LogFormat::parse(text);
    ASSERT_FALSE(format) << text;
    EXPECT_TRUE(format.error().text().starts_with(wanted)) << format.error().text();
  }
}

}  // namespace
}  // namespace sluice::loadgen
