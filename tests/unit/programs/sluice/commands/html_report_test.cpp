#include "programs/sluice/commands/html_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sluice::commands {
namespace {

nlohmann::json data_of(const std::string& page) {
  const std::string mark = R"(<script type="application/json" id="data">)";
  const std::size_t begin = page.find(mark) + mark.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(HtmlReport, HasTheTextAndTheRows) {
  HtmlReport report{"a run", {"ready", "want"}, false};
  report.text() << "p99 < 200 ms & more\n";
  report.row(0, false, {1, 2});
  report.row(2.5, true, {2, 3});

  const std::string page = report.page();

  EXPECT_NE(page.find("p99 &lt; 200 ms &amp; more\n"), std::string::npos);
  const auto data = data_of(page);
  EXPECT_EQ(data["title"], "a run");
  EXPECT_EQ(data["rows"], nlohmann::json::parse("[[0.0,0,1.0,2.0],[2.5,1,2.0,3.0]]"));
}

TEST(HtmlReport, NoTextEndsTheElementThatItIsIn) {
  HtmlReport report{"</script><script>alert(1)</script>", {}, false};
  report.text() << "</pre><img src=x>";

  const std::string page = report.page();

  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(data_of(page)["title"], "</script><script>alert(1)</script>");
}

TEST(HtmlReport, OfALongRunRowsAreJoinedWithTheirLargestValues) {
  HtmlReport report{"long", {"want"}, false};
  const std::size_t rows = 40 * HtmlReport::kRowsMax;
  for (std::size_t i = 0; i < rows; ++i) {
    report.row(static_cast<double>(2 * i), i == rows / 2, {i == rows / 3 ? 7.0 : 1.0});
  }

  const auto data = data_of(report.page());

  EXPECT_LE(data["rows"].size(), HtmlReport::kRowsMax);
  EXPECT_GE(data["rows"].size(), HtmlReport::kRowsMax / 2);
  EXPECT_EQ(data["step"], 128.0);
  std::size_t most = 0;
  std::size_t panics = 0;
  for (const auto& row : data["rows"]) {
    ASSERT_EQ(row.size(), 3U) << row;
    most += row[2] == 7.0 ? 1U : 0U;
    panics += row[1] == 1 ? 1U : 0U;
  }
  EXPECT_EQ(most, 1U);
  EXPECT_EQ(panics, 1U);
}

TEST(HtmlReport, NeedsNothingBesideIt) {
  const std::string page = HtmlReport{"", {}, false}.page();

  for (const char* const foreign :
       {" src=", "<link", "http://", "https://", "import ", "@import"}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

}  // namespace
}  // namespace sluice::commands
