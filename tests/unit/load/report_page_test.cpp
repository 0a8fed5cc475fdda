#include "load/io/report_page.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "load/core/compact_histogram.h"
#include <chrono>
#include <string>

namespace sluice::loadgen {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

std::string counted(int first_ms, int last_ms, int step_ms = 1) {
  CompactHistogram histogram;
  for (int at = first_ms; at <= last_ms; at += step_ms) histogram.record(milliseconds{at});
  return histogram.text();
}

Json row_of(double at_s, const std::string& target, const std::string& histogram) {
  return {{"at_s", at_s},    {"for_s", 1.0},          {"target", target},
          {"phase", "p"},    {"rate_planned", 10.0},  {"sent", 10},
          {"answered", 10},  {"errors", 0},           {"not_sent", 0},
          {"in_flight", 0},  {"p50_ms", 50.0},        {"p99_ms", 99.0},
          {"max_ms", 100.0}, {"histogram", histogram}};
}

Json report_of(Json seconds) {
  return {{"schema", 1}, {"name", "n"}, {"scaling", nullptr}, {"seconds", std::move(seconds)}};
}

Json run_of(const std::string& page) {
  const std::string mark = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(mark) + mark.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin))["runs"][0];
}

TEST(ReportPage, HasTheTextAndTheReport) {
  const Json report = report_of(Json::array({row_of(0, "a", counted(50, 100))}));

  const std::string page = report_page(report.dump(), "p99 < 200 ms & more\n");

  EXPECT_NE(page.find("p99 &lt; 200 ms &amp; more\n"), std::string::npos);
  const Json run = run_of(page);
  EXPECT_EQ(run["name"], "n");
  EXPECT_EQ(run["seconds"][0]["p99_ms"], 99.0);
}

TEST(ReportPage, NoTextEndsTheElementThatItIsIn) {
  Json report = report_of(Json::array());
  report["name"] = "</script><script>alert(1)</script><!--";

  const std::string page = report_page(report.dump(), "</pre><img src=x>");

  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(run_of(page)["name"], report["name"]);
}

TEST(ReportPage, NeedsNothingBesideIt) {
  std::string page = report_page(report_of(Json::array()).dump(), "");
  const std::string name_of_svg = "http://www.w3.org/2000/svg";
  page.erase(page.find(name_of_svg), name_of_svg.size());

  for (const char* const foreign :
       {" src=", "<link", "http://", "https://", "import ", "@import"}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_LE(page.size(), std::size_t{90} << 10U);
}

TEST(ReportPage, ASecondTakesHalfAKibibyteWhateverItsHistogram) {
  const std::string empty = report_page(report_of(Json::array()).dump(), "");
  Json seconds = Json::array();
  for (int i = 0; i < 100; ++i) seconds.push_back(row_of(i, "target", counted(1, 10000, 3)));

  const std::string page = report_page(report_of(seconds).dump(), "");

  EXPECT_LE(page.size(), empty.size() + 100 * 512);
  const auto shown = CompactHistogram::parse(
      run_of(page)["seconds"][0]["histogram"].get_ref<const std::string&>());
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->count(), 3334U);
  EXPECT_LE(shown->buckets().size(), 60U);
}

TEST(ReportPage, OfALongRunSecondsAreJoinedAndNoRequestIsLost) {
  constexpr int kSeconds = 12000;
  Json seconds = Json::array();
  for (int i = 0; i < kSeconds; ++i) {
    seconds.push_back(row_of(i, "a", counted(1, 100)));
    seconds.push_back(row_of(i, "b", counted(1001, 1100)));
  }
  seconds[2 * 7]["max_ms"] = 4321.0;

  const std::string page = report_page(report_of(seconds).dump(), "");

  EXPECT_LE(page.size(), kPageBytesMax);
  const Json run = run_of(page);
  std::uint64_t sent = 0;
  double most = 0;
  for (const Json& row : run["seconds"]) {
    sent += row["sent"].get<std::uint64_t>();
    most = std::max(most, row["max_ms"].get<double>());
    EXPECT_GT(row["for_s"], 1.0);
    EXPECT_EQ(row["rate_planned"], 10.0);
  }
  EXPECT_EQ(sent, 20U * kSeconds);
  EXPECT_EQ(most, 4321.0);
  EXPECT_EQ(run["seconds"][0]["target"], "a");
  EXPECT_EQ(run["seconds"][1]["target"], "b");
  EXPECT_EQ(run["seconds"][1]["at_s"], 0.0);
}

}  // namespace
}  // namespace sluice::loadgen
