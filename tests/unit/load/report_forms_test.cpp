#include "load/core/report_forms.h"

#include <gtest/gtest.h>

#include "load/core/hdr.h"

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

// Two answers, of 10 and of 20 ms, and one that was refused a connection, in the first second.
Report small_report() {
  Report report;
  report.plan.phases[0].segments = {{3, 1s}};
  report.plan.duration = 1s;
  report.length = 1s;
  report.results = Results{report.plan};
  for (const Duration latency : {10ms, 20ms}) {
    const PlannedRequest planned{.at = 100ms};
    report.results.sent(planned, planned.at);
    report.results.finished(
        planned, {planned.at, planned.at, planned.at + latency, Ending::answered, 200, false, 0});
  }
  report.results.sent({.at = 300ms}, 300ms);
  report.results.finished({.at = 300ms}, {300ms, 300ms, 301ms, Ending::connect_refused});
  return report;
}

Verdict failed(std::string expression) {
  return {std::move(expression), Use::assertion, 0.297, "297.0 ms", true};
}

TEST(ReportCsv, HasARowForEachSecondAndTarget) {
  EXPECT_EQ(report_csv(small_report()),
            "at_s,for_s,target,phase,rate_planned,sent,answered,errors,not_sent,in_flight,p50_ms,"
            "p99_ms,max_ms\n"
            "0,1,,,3,3,2,1,0,0,10.002,20,20\n");
}

TEST(ReportCsv, QuotesNamesThatHaveSeparators) {
  Report report = small_report();
  report.plan.targets[0].name = "a,\"b\"";

  EXPECT_NE(report_csv(report).find("0,1,\"a,\"\"b\"\"\",,3"), std::string::npos);
}

TEST(ReportJunit, HasACaseForEachConditionWithItsSentence) {
  Report report = small_report();
  report.plan.run_name = "a<b>&\"c\"\x01";
  const std::vector<Verdict> verdicts{
      failed("p99 < 250ms"),
      {"errors > 5", Use::fail_if, 1, "1", false},
      {"panics == 0", Use::assertion, std::nullopt, "not known", false}};

  const std::string xml = report_junit(report, verdicts, "2026-11-20T14:03:12Z");

  EXPECT_NE(
      xml.find("name=\"a&lt;b&gt;&amp;&quot;c&quot; \" tests=\"3\" failures=\"1\" errors=\"1\""),
      std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure message=\"p99 &lt; 250ms: 297.0 ms\"/>"), std::string::npos);
  EXPECT_NE(xml.find("name=\"fail if errors &gt; 5\" time=\"0\"/>"), std::string::npos);
  EXPECT_NE(xml.find("<error message=\"panics == 0: not known\"/>"), std::string::npos);
}

TEST(ReportMarkdown, HasFailedConditionsFirst) {
  const std::vector<Verdict> verdicts{{"errors == 1", Use::assertion, 1, "1", false},
                                      failed("p99 < 250ms")};

  const std::string text = report_markdown(small_report(), verdicts);

  EXPECT_EQ(text.rfind("### load: failed\n", 0), 0U) << text;
  EXPECT_LT(text.find("| **failed** | p99 \\< 250ms | 297.0 ms |"), text.find("| passed | errors"));
  EXPECT_NE(text.find("| all | 3/s | 10.0 ms | 20.0 ms | 20.0 ms | 33.33 % |"), std::string::npos)
      << text;
}

TEST(ReportMarkdown, TakesAtMostFourKibibytes) {
  Report report = small_report();
  const std::string hostile(200, '|');
  report.plan.name = hostile.substr(0, 100);
  report.plan.targets.resize(100, report.plan.targets[0]);
  report.plan.phases.resize(100, report.plan.phases[0]);
  for (TargetPlan& target : report.plan.targets) target.name = hostile.substr(0, 100);
  report.results = Results{report.plan};
  const std::vector<Verdict> verdicts(100, failed(hostile));

  const std::string text = report_markdown(report, verdicts);

  EXPECT_LE(text.size(), 4096U);
  EXPECT_NE(text.find(" more rows"), std::string::npos);
  EXPECT_NE(text.find("and 96 more"), std::string::npos) << text;
}

TEST(Hdr, WritesCountsAndRunsOfZeros) {
  const std::vector<HdrBucket> buckets{{0, 1}, {2, 300}, {100, 1}};

  const std::string bytes = hdr_bytes(buckets);

  ASSERT_GT(bytes.size(), 40U);
  EXPECT_EQ(bytes.substr(0, 4), "\x1c\x84\x93\x13");
  // 1; one zero; 300; 97 zeros; 1: as zigzag numbers of seven bits a byte.
  EXPECT_EQ(bytes.substr(40), std::string("\x02\x00\xd8\x04\xc1\x01\x02", 7));
  EXPECT_EQ(static_cast<unsigned char>(bytes[7]), 7U) << "the length of the counts";
}

TEST(Hdr, PrintsPercentilesUpToTheMaximum) {
  Histogram times;
  for (int i = 1; i <= 1000; ++i) times.record(i * 1ms);

  const std::string text = percentile_text(times);

  EXPECT_EQ(text.rfind("       Value     Percentile TotalCount 1/(1-Percentile)\n\n", 0), 0U);
  EXPECT_NE(text.find(" 0.500000000000        500           2.00\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    1000.000 1.000000000000       1000\n#[Mean"), std::string::npos) << text;
  EXPECT_NE(percentile_text(Histogram{}).find("Total count    =            0]"), std::string::npos);
}

}  // namespace
}  // namespace sluice::loadgen
