#include "load/core/har_trace.h"

#include "tests/unit/load/trace_reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

std::string entry(const std::string& time, const std::string& method, const std::string& url,
                  const std::string& body = {}) {
  return R"({"startedDateTime": ")" + time + R"(", "time": 12.5, "request": {"method": ")" +
         method + R"(", "url": ")" + url +
         R"(", "headers": [{"name": "Cookie", "value": "secret"}], "bodySize": -1}, )" +
         R"("response": {"status": 200, "content": {"encoding": "base64", "text": ")" + body +
         R"("}}, "timings": {"wait": 1}})";
}

std::string file_of(const std::vector<std::string>& entries) {
  std::string text = R"({"log": {"version": "1.2", "pages": [{"startedDateTime": "soon"}], )";
  text += R"("entries": [)";
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i == 0 ? "" : ", ") + entries[i];
  return text + "]}}";
}

TEST(HarTrace, ReadsTheRequestsOfABrowser) {
  const std::string text =
      file_of({entry("2026-11-20T14:03:12.061Z", "GET", "https://shop.example/a?b=c\\u0026d#e"),
               entry("2026-11-20T14:03:13.061Z", "POST", "https://shop.example")});
  const Read out = read_in_every_cut(text);

  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(
      out.cells,
      "0+0 x1 shop.example GET /a?b=c&d 12.5ms 200; 1000+0 x1 shop.example POST / 12.5ms 200");
  EXPECT_EQ(out.facts.format, TraceFormat::har);
  EXPECT_EQ(out.facts.origin, TimePoint{1'795'183'392'061ms});
  EXPECT_EQ(out.facts.lines, 2U);
}

TEST(HarTrace, ReadsWhatIsLaidOutOverLines) {
  std::string text = file_of({entry("2026-11-20T14:03:12.061Z", "GET", "http://x/")});
  for (std::size_t at = text.find_first_of("{,:["); at != std::string::npos;
       at = text.find_first_of("{,:[", at + 4)) {
    const std::size_t quotes = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '"'));
    if (quotes % 2 == 0) text.insert(at + 1, "\r\n\t ");
  }

  EXPECT_EQ(read_in_every_cut("\xEF\xBB\xBF" + text).cells, "0+0 x1 x GET / 12.5ms 200");
}

// Goal: a body may be of any bytes and length, and nothing of it is kept.
TEST(HarTrace, PassesOverBodiesOfAnyBytes) {
  std::string body(3U << 20U, 'A');
  body += "\\\"}]}, \\\\";
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '"' && byte != '\\') body += static_cast<char>(byte);
  }
  const std::string text =
      file_of({entry("2026-11-20T14:03:12.061Z", "GET", "http://x/1", body),
               entry("2026-11-20T14:03:13.061Z", "GET", "http://x/2", "\\u0000")});

  const Read out = read(text, {}, 4096);
  EXPECT_EQ(out.problem, "");
  EXPECT_EQ(out.cells, "0+0 x1 x GET /1 12.5ms 200; 1000+0 x1 x GET /2 12.5ms 200");
}

TEST(HarTrace, CountsEntriesThatAreNoRequestsOfHttp) {
  const std::vector<std::pair<std::string, const char*>> rows{
      {entry("2026-11-20T14:03:13.061Z", "GET", "data:image/png;base64,AAAA"), "a request of HTTP"},
      {entry("2026-11-20T14:03:13.061Z", "GET", "wss://x/"), "a request of HTTP"},
      {entry("2026-11-20T14:03:13.061Z", "GET", "http://"), "a request of HTTP"},
      {entry("2026-11-20T14:03:13.061Z", "G T", "http://x/"), "a request of HTTP"},
      {entry("2026-11-20T14:03:13.061Z", "GET", "http://x/" + std::string(70'000, 'a')),
       "a request of HTTP"},
      {R"({"startedDateTime": "2026-11-20T14:03:13.061Z"})", "a request of HTTP"},
      {entry("soon", "GET", "http://x/"), "valid time"},
      {"{}", "valid time"},
      {"[]", "valid time"},
      {entry("2026-11-20T12:03:13.061Z", "GET", "http://x/"),
       "more than an hour before one above"}};

  for (const auto& [wrong, why] : rows) {
    const Read out =
        read_in_every_cut(file_of({entry("2026-11-20T14:03:12.061Z", "GET", "http://x/"), wrong}));
    EXPECT_EQ(out.cells, "0+0 x1 x GET / 12.5ms 200") << wrong.substr(0, 200);
    EXPECT_TRUE(out.skipped().starts_with("1 entry ")) << out.skipped();
    EXPECT_NE(out.skipped().find(why), std::string::npos) << out.skipped();
    EXPECT_TRUE(out.skipped().ends_with("(the first: 2)")) << out.skipped();
  }
}

TEST(HarTrace, NeedsTheWholeFile) {
  const std::string text = file_of({entry("2026-11-20T14:03:12.061Z", "GET", "http://x/")});
  const std::size_t begin = std::string{R"({"log": {)"}.size();
  for (std::size_t size = begin; size < text.size(); size += 13) {
    EXPECT_EQ(
        read(text.substr(0, size)).problem,
        "it ends in the middle, after " + std::to_string(size) + " bytes; give the whole file");
  }
}

TEST(HarTrace, NamesTheByteFromWhichItIsNoJson) {
  for (const char* text :
       {R"({"log":{x)", R"({"log":{]})", R"({"log":{"a" 1)", R"({"log":{"a":,)",
        R"({"log":{"a":1 2)", R"({"log":{}}})", R"({"log":{"a":[1},)", R"({"log":{"a":1,})"}) {
    const Read out = read_in_every_cut(text);
    EXPECT_TRUE(
        out.problem.ends_with(": it is not JSON from there on; check whether the file was "
                              "changed or cut"))
        << text << ": " << out.problem;
  }
  EXPECT_TRUE(read(R"({"log":{x)").problem.starts_with("byte 9: "));
  EXPECT_TRUE(read(R"({"log":{"a":)" + std::string(70, '[')).problem.starts_with("byte "));
}

TEST(HarTrace, IsNotTakenForLinesOfJson) {
  EXPECT_EQ(HarTrace::begins(R"({"log")"), std::nullopt);
  EXPECT_EQ(HarTrace::begins(" {\n"), std::nullopt);
  EXPECT_EQ(HarTrace::begins("\xEF\xBB"), std::nullopt);
  EXPECT_EQ(HarTrace::begins(R"({"log": {"a)"), true);
  EXPECT_EQ(HarTrace::begins(R"({"log":"a line of a container")"), false);
  EXPECT_EQ(HarTrace::begins("at_s"), false);
}

TEST(HarTrace, AnotherFormatIsNamedWhereHarWasAskedFor) {
  EXPECT_EQ(read_in_every_cut("at_s\n1\n", {.format = TraceFormat::har}).problem,
            "line 1: it looks like csv, not like har; leave out :har or give another file");
  EXPECT_TRUE(read_in_every_cut("<html>\n", {.format = TraceFormat::har})
                  .problem.starts_with("line 1: it does not begin like a HAR file"));
  EXPECT_TRUE(read_in_every_cut("{", {.format = TraceFormat::har})
                  .problem.starts_with("it ends in the middle, after 1 bytes"));
  EXPECT_EQ(read(file_of({}), {.format = TraceFormat::csv}).problem,
            "line 1: it looks like har, not like csv; leave out :csv or give another file");
}

}  // namespace
}  // namespace sluice::loadgen
