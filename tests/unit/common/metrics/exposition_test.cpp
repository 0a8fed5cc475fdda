#include "common/metrics/exposition.h"

#include "common/metrics/histogram.h"

#include <gtest/gtest.h>

#include <prometheus/text_serializer.h>

namespace sluice::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

const std::string kAwkward = "a \"quoted\" \\ back\nslash, é";

std::string theirs(const MetricFamily& family) {
  return prometheus::TextSerializer{}.Serialize({family});
}

MetricFamily family(const char* name, prometheus::MetricType type) {
  return {name, "What it says.", type, {}};
}

TEST(Exposition, WritesCountersAsPrometheusDoes) {
  MetricFamily expected = family("a_total", prometheus::MetricType::Counter);
  ClientMetric metric;
  metric.counter.value = 7;
  metric.label = {{"code", "200"}, {"source", kAwkward}};
  expected.metric.push_back(metric);

  std::string out;
  Exposition text{out};
  text.family("a_total", MetricType::counter, "What it says.");
  text.value({{"code", "200"}, {"source", kAwkward}}, 7);

  EXPECT_EQ(out, theirs(expected));
}

TEST(Exposition, WritesGaugesAsPrometheusDoes) {
  MetricFamily expected = family("load", prometheus::MetricType::Gauge);
  for (const double value :
       {0.0, -3.0, 0.25, 1e6, 1048576.0, 1764108000.123456, 1e17, 1.0 / 3, 0.1 + 0.2}) {
    ClientMetric metric;
    metric.gauge.value = value;
    expected.metric.push_back(metric);
  }

  std::string out;
  Exposition text{out};
  text.family("load", MetricType::gauge, "What it says.");
  for (const double value :
       {0.0, -3.0, 0.25, 1e6, 1048576.0, 1764108000.123456, 1e17, 1.0 / 3, 0.1 + 0.2})
    text.value({}, value);

  EXPECT_EQ(out, theirs(expected));
}

TEST(Exposition, WritesHistogramsAsPrometheusDoes) {
  MetricFamily expected = family("wait_seconds", prometheus::MetricType::Histogram);
  ClientMetric metric;
  metric.label = {{"method", "GET"}};
  metric.histogram.sample_count = 6;
  metric.histogram.sample_sum = 2.5;
  metric.histogram.bucket = {{1, 0.5}, {3, 1}, {6, std::numeric_limits<double>::infinity()}};
  expected.metric.push_back(metric);

  std::string out;
  Exposition text{out};
  text.family("wait_seconds", MetricType::histogram, "What it says.");
  const std::array<std::string_view, 2> bounds{"0.5", "1"};
  const std::array<std::uint64_t, 3> counts{1, 2, 3};
  text.histogram({{"method", "GET"}}, {bounds, counts, 2.5});

  EXPECT_EQ(out, theirs(expected));
}

TEST(Exposition, LeavesOutLabelsWithoutValue) {
  std::string out;
  Exposition text{out};
  text.value({{"a", ""}, {"b", "x"}, {"c", ""}}, 1);
  text.value({{"a", ""}}, 2);

  EXPECT_EQ(out, "{b=\"x\"} 1\n 2\n");
}

TEST(Buckets, FindTheFirstBoundThatIsNotBelow) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  EXPECT_EQ(kSeconds.find(0), 0U);
  EXPECT_EQ(kSeconds.find(5 * kMillisecond), 0U);
  EXPECT_EQ(kSeconds.find(5 * kMillisecond + 1), 1U);
  EXPECT_EQ(kSeconds.find(10'000 * kMillisecond), 13U);
  EXPECT_EQ(kSeconds.find(10'000 * kMillisecond + 1), 14U);
  EXPECT_EQ(kBytes.find(0), 0U);
  EXPECT_EQ(kBytes.find(1), 1U);
  EXPECT_EQ(kBytes.find(1'000'000'001), 20U);
}

TEST(Buckets, PrintTheirBoundsInUnitsOfTheMetric) {
  for (std::size_t i = 0; i < kSeconds.texts().size(); ++i) {
    const double bound = std::stod(std::string{kSeconds.texts()[i]});
    const auto nanoseconds = static_cast<std::int64_t>(bound * 1e9 + 0.5);
    EXPECT_EQ(kSeconds.find(nanoseconds), i);
    EXPECT_EQ(kSeconds.find(nanoseconds + 1), i + 1);
  }
  for (std::size_t i = 0; i < kBytes.texts().size(); ++i) {
    const auto bytes = static_cast<std::int64_t>(std::stod(std::string{kBytes.texts()[i]}));
    EXPECT_EQ(kBytes.find(bytes), i);
    EXPECT_EQ(kBytes.find(bytes + 1), i + 1);
  }
}

}  // namespace
}  // namespace sluice::metrics
