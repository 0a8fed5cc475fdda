// The names and labels of a Knative before OBSERVABILITY_CONFIG (queue-proxy.md 12).

#include "queue-proxy/core/older_metrics.h"

#include "common/metrics/exposition.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;

const std::string kIdentity =
    R"(configuration_name="shop",container_name="queue-proxy",namespace_name="prod",)"
    R"(pod_name="shop-00001-x",)";

class OlderMetricsTest : public ::testing::Test {
 protected:
  // The value behind a series of that name, with labels after those of the pod; or "absent".
  [[nodiscard]] std::string value(const std::string& name, const std::string& labels,
                                  std::optional<QueueLoad> queue = std::nullopt) const {
    std::string text = "\n";
    metrics::Exposition page{text};
    metrics_.write(page, queue);
    const std::string series = "\n" + name + "{" + kIdentity + labels + "} ";
    const std::size_t at = text.find(series);
    if (at == std::string::npos) return "absent";
    const std::size_t begin = at + series.size();
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  RequestRecord get(int status, std::string_view route = "kn:disabled") {
    head_.method = "GET";
    return {.head = head_, .route = route, .status = status, .latency = 45ms, .app = 7ms};
  }

  http::RequestHead head_;
  OlderMetrics metrics_{
      {"1.0.0", "shop", "prod", "shop", "shop", "shop-00001", "shop-00001-x", "8080"}};
};

const std::string kOk =
    R"(response_code="200",response_code_class="2xx",revision_name="shop-00001",)";

TEST_F(OlderMetricsTest, CountsRequestsByStatusAndRoute) {
  metrics_.leave(get(200));
  metrics_.leave(get(200));
  metrics_.leave(get(200, "kn:default"));
  metrics_.leave(get(200, "green"));

  const std::string name = "revision_request_count";
  EXPECT_EQ(value(name, kOk + R"(route_tag="DISABLED",service_name="shop")"), "2");
  EXPECT_EQ(value(name, kOk + R"(route_tag="DEFAULT",service_name="shop")"), "1");
  EXPECT_EQ(value(name, kOk + R"(route_tag="green",service_name="shop")"), "1");
}

TEST_F(OlderMetricsTest, MeasuresMilliseconds) {
  metrics_.leave(get(200));

  const std::string labels = kOk + R"(route_tag="DISABLED",service_name="shop")";
  EXPECT_EQ(value("revision_request_latencies_bucket", labels + R"(,le="40")"), "0");
  EXPECT_EQ(value("revision_request_latencies_bucket", labels + R"(,le="60")"), "1");
  EXPECT_EQ(value("revision_request_latencies_bucket", labels + R"(,le="100000")"), "1");
  EXPECT_EQ(value("revision_request_latencies_sum", labels), "45");
}

TEST_F(OlderMetricsTest, SeparatesTheContainersTimeButNotItsRoutes) {
  metrics_.leave(get(200));
  metrics_.leave(get(200, "green"));
  RequestRecord refused = get(503);
  refused.app.reset();
  metrics_.leave(refused);

  EXPECT_EQ(value("revision_app_request_count", kOk + R"(service_name="shop")"), "2");
  EXPECT_EQ(value("revision_app_request_latencies_sum", kOk + R"(service_name="shop")"), "14");
  EXPECT_EQ(value("revision_request_count",
                  R"(response_code="503",response_code_class="5xx",revision_name="shop-00001",)"
                  R"(route_tag="DISABLED",service_name="shop")"),
            "1");
}

TEST_F(OlderMetricsTest, HasADepthOnlyWithABreaker) {
  const std::string labels = R"(revision_name="shop-00001",service_name="shop")";
  EXPECT_EQ(value("revision_queue_depth", labels), "absent");
  EXPECT_EQ(value("revision_queue_depth", labels, QueueLoad{2, 3, 2}), "5");
}

TEST_F(OlderMetricsTest, BoundsTheLabelsOfAClient) {
  for (int i = 0; i < 1000; ++i) metrics_.leave(get(200, "tag-" + std::to_string(i)));
  metrics_.leave(get(200, std::string(64, 'x')));

  std::string text;
  metrics::Exposition page{text};
  metrics_.write(page, std::nullopt);
  std::size_t series = 0;
  for (std::size_t at = text.find("revision_request_count{"); at != std::string::npos;
       at = text.find("revision_request_count{", at + 1)) {
    ++series;
  }
  EXPECT_EQ(series, OlderMetrics::kSeriesMax);
  EXPECT_EQ(value("revision_request_count",
                  R"(revision_name="shop-00001",route_tag="OTHER",service_name="shop")"),
            std::to_string(1001 - (OlderMetrics::kSeriesMax - 1)));
}

}  // namespace
}  // namespace sluice::queue_proxy
