#include "queue-proxy/core/request_metrics.h"

#include "common/metrics/exposition.h"
#include "queue-proxy/core/route_tag.h"

#include <gtest/gtest.h>

namespace sluice::queue_proxy {
namespace {

using namespace std::chrono_literals;

// What a scrape shows, series by series.
class Scrape {
 public:
  explicit Scrape(const RequestMetrics& metrics, std::optional<QueueLoad> queue = std::nullopt) {
    metrics::Exposition text{text_};
    metrics.write(text, queue);
  }

  // The value behind `series` (name and labels), or "absent".
  [[nodiscard]] std::string operator[](const std::string& series) const {
    const std::size_t at = ("\n" + text_).find("\n" + series + " ");
    if (at == std::string::npos) return "absent";
    const std::size_t value = at + series.size() + 1;
    return text_.substr(value, text_.find('\n', value) - value);
  }

  [[nodiscard]] bool names(const std::string& word) const {
    return text_.find(word) != std::string::npos;
  }

  [[nodiscard]] std::size_t count(const std::string& word) const {
    std::size_t times = 0;
    for (std::size_t at = text_.find(word); at != std::string::npos;
         at = text_.find(word, at + 1)) {
      ++times;
    }
    return times;
  }

 private:
  std::string text_;
};

class RequestMetricsTest : public ::testing::Test {
 protected:
  // One request, begun and ended.
  void serve(const RequestRecord& record) {
    metrics_.enter(record.head.method, record.secure);
    metrics_.leave(record);
  }

  RequestRecord get(int status) {
    head_.method = "GET";
    return {.head = head_, .route = "kn:disabled", .status = status, .latency = 20ms, .app = 15ms};
  }

  http::RequestHead head_;
  RequestMetrics metrics_{
      {"1.0.0", "shop", "prod", "shop", "shop", "shop-00001", "shop-00001-x", "8080"}};
};

const std::string kGet =
    R"(http_request_method="GET",http_response_status_code="200",kn_route_tag="kn:disabled",)"
    R"(network_protocol_name="http",network_protocol_version="1.1",url_scheme="http")";

TEST_F(RequestMetricsTest, CountsARequestInEachOfItsHistograms) {
  RequestRecord record = get(200);
  record.request_bytes = 10;
  record.response_bytes = 2000;
  serve(record);

  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape["http_server_request_duration_seconds_count{" + kGet + "}"], "1");
  EXPECT_EQ(scrape["http_server_request_duration_seconds_sum{" + kGet + "}"], "0.02");
  EXPECT_EQ(scrape["http_server_request_duration_seconds_bucket{" + kGet + ",le=\"0.01\"}"], "0");
  EXPECT_EQ(scrape["http_server_request_duration_seconds_bucket{" + kGet + ",le=\"0.025\"}"], "1");
  EXPECT_EQ(scrape["http_server_request_duration_seconds_bucket{" + kGet + ",le=\"+Inf\"}"], "1");
  EXPECT_EQ(scrape["http_server_request_body_size_bytes_bucket{" + kGet + ",le=\"10\"}"], "1");
  EXPECT_EQ(scrape["http_server_response_body_size_bytes_sum{" + kGet + "}"], "2000");
  const std::string client =
      R"({http_request_method="GET",http_response_status_code="200",network_protocol_name="http",)"
      R"(network_protocol_version="1.1",server_address="127.0.0.1",server_port="8080",)"
      R"(url_scheme="http"})";
  EXPECT_EQ(scrape["http_client_request_duration_seconds_sum" + client], "0.015");
  EXPECT_EQ(scrape["http_client_request_body_size_bytes_sum" + client], "10");
  EXPECT_EQ(scrape["kn_serving_invocation_duration_seconds_sum{http_response_status_code=\"200\"}"],
            "0.015");
}

TEST_F(RequestMetricsTest, RecordsTheSourceAndCauseOfAnAnswer) {
  serve(get(503));
  RequestRecord full = get(503);
  full.cause = Cause::queue_full;
  full.app.reset();
  serve(full);
  RequestRecord gone = get(499);
  gone.cause = Cause::client_gone;
  serve(gone);

  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape[R"(sluice_responses_total{http_response_status_code="503",source="container"})"],
            "1");
  EXPECT_EQ(
      scrape
          [R"(sluice_responses_total{http_response_status_code="503",source="queue-proxy",cause="queue-full"})"],
      "1");
  EXPECT_EQ(
      scrape
          [R"(sluice_responses_total{http_response_status_code="499",source="client",cause="client-gone"})"],
      "1");
}

TEST_F(RequestMetricsTest, MeasuresTheContainerOnlyForRequestsThatReachedIt) {
  RequestRecord full = get(503);
  full.app.reset();
  serve(full);

  const Scrape scrape{metrics_};

  EXPECT_FALSE(scrape.names("kn_serving_invocation_duration_seconds_count"));
  EXPECT_FALSE(scrape.names("http_client_request_duration_seconds_count"));
}

TEST_F(RequestMetricsTest, CountsWaitingAndRefusalsWithABreaker) {
  RequestRecord waited = get(200);
  waited.bounded = true;
  waited.queued = 60ms;
  serve(waited);
  RequestRecord late = get(503);
  late.bounded = true;
  late.queued = 1s;
  late.cause = Cause::queue_wait;
  serve(late);
  RequestRecord full = get(503);
  full.bounded = true;
  full.cause = Cause::queue_full;
  serve(full);

  const Scrape scrape{metrics_, QueueLoad{1, 3, 1}};

  EXPECT_EQ(scrape["kn_serving_queue_depth"], "4");
  EXPECT_EQ(scrape["sluice_queue_waiting"], "3");
  EXPECT_EQ(scrape["sluice_queue_capacity"], "1");
  EXPECT_EQ(scrape["sluice_request_queue_wait_seconds_count"], "2");
  EXPECT_EQ(scrape["sluice_request_queue_wait_seconds_bucket{le=\"0.075\"}"], "1");
  EXPECT_EQ(scrape["sluice_shed_total{reason=\"queue-full\"}"], "1");
  EXPECT_EQ(scrape["sluice_shed_total{reason=\"queue-wait\"}"], "1");
}

TEST_F(RequestMetricsTest, HasNoQueueWithoutABreaker) {
  serve(get(200));

  const Scrape scrape{metrics_};

  EXPECT_FALSE(scrape.names("kn_serving_queue_depth"));
  EXPECT_FALSE(scrape.names("sluice_shed_total"));
}

TEST_F(RequestMetricsTest, CountsRequestsInFlight) {
  metrics_.enter("GET", false);
  metrics_.enter("GET", false);
  metrics_.leave(get(200));

  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape[R"(http_server_active_requests{http_request_method="GET",url_scheme="http"})"],
            "1");
}

TEST_F(RequestMetricsTest, SeparatesProtocolsAndSchemes) {
  RequestRecord record = get(200);
  head_.version_major = 2;
  record.secure = true;
  serve(record);
  head_.version_major = 1;
  head_.version_minor = 0;
  record.secure = false;
  serve(record);

  const Scrape scrape{metrics_};

  EXPECT_TRUE(scrape.names(R"(network_protocol_version="2",url_scheme="https",le="10")"));
  EXPECT_TRUE(scrape.names(R"(network_protocol_version="1.0",url_scheme="http",le="10")"));
}

TEST_F(RequestMetricsTest, RecordsNonstandardMethodsAsOther) {
  RequestRecord record = get(200);
  for (const char* method : {"get", "BREW", "X"}) {
    head_.method = method;
    serve(record);
  }

  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape.count("http_server_request_duration_seconds_count"), 1U);
  EXPECT_TRUE(scrape.names(R"(_count{http_request_method="_OTHER",)"));
}

TEST_F(RequestMetricsTest, BoundsTheLabelsOfClients) {
  RequestRecord record = get(200);
  for (int i = 0; i < 1000; ++i) {
    const std::string tag = "tag-" + std::to_string(i);
    record.route = tag;
    record.status = 100 + i % 500;
    head_.version_minor = i % 2;
    serve(record);
  }

  const Scrape scrape{metrics_};

  EXPECT_LE(scrape.count("http_server_request_duration_seconds_count"),
            RequestMetrics::kSeriesMax + 1);
  EXPECT_LE(scrape.count("http_client_request_duration_seconds_count"),
            RequestMetrics::kSeriesMax + 1);
  EXPECT_TRUE(scrape.names("kn_route_tag=\"kn:other\""));
  EXPECT_TRUE(scrape.names("_count{otel_metric_overflow=\"true\"}"));
  EXPECT_FALSE(scrape.names("tag-900"));
}

TEST_F(RequestMetricsTest, LosesNoRequestToItsBounds) {
  RequestRecord record = get(0);
  for (int status = 0; status < 1000; ++status) {
    record.status = status;
    serve(record);
  }
  std::string text;
  metrics::Exposition page{text};
  metrics_.write(page, std::nullopt);

  std::uint64_t sum = 0;
  const std::string name = "http_server_request_duration_seconds_count{";
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    sum += std::stoull(text.substr(text.find("} ", at) + 2));
  }

  EXPECT_EQ(sum, 1000U);
}

TEST_F(RequestMetricsTest, ToleratesAClockThatStepsBack) {
  RequestRecord record = get(200);
  record.latency = -5s;
  record.app = -5s;
  serve(record);

  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape["http_server_request_duration_seconds_sum{" + kGet + "}"], "0");
}

TEST_F(RequestMetricsTest, IdentifiesItsPod) {
  const Scrape scrape{metrics_};

  EXPECT_EQ(scrape[R"(target_info{k8s_container_name="queue-proxy",k8s_namespace_name="prod",)"
                   R"(k8s_pod_name="shop-00001-x",kn_configuration_name="shop",)"
                   R"(kn_revision_name="shop-00001",kn_service_name="shop",)"
                   R"(service_instance_id="shop-00001-x",service_name="shop",)"
                   R"(service_version="1.0.0"})"],
            "1");
  EXPECT_EQ(scrape[R"(sluice_build_info{version="1.0.0",revision="shop-00001"})"], "1");
}

TEST(RecordedStatus, IsTheSentStatusUnlessTheClientLeftOrTheAnswerBroke) {
  EXPECT_EQ(recorded_status(404, Cause::none), 404);
  EXPECT_EQ(recorded_status(503, Cause::queue_full), 503);
  EXPECT_EQ(recorded_status(200, Cause::client_gone), 499);
  EXPECT_EQ(recorded_status(0, Cause::client_gone), 499);
  EXPECT_EQ(recorded_status(200, Cause::container_aborted), 500);
  EXPECT_EQ(recorded_status(200, Cause::timeout_idle), 504);
}

TEST(RouteTag, FollowsTheTwoHeaders) {
  EXPECT_EQ(route_tag("", ""), "kn:disabled");
  EXPECT_EQ(route_tag("", "false"), "kn:default");
  EXPECT_EQ(route_tag("", "true"), "kn:default");
  EXPECT_EQ(route_tag("t", "true"), "kn:undefined");
  EXPECT_EQ(route_tag("t", "false"), "t");
  EXPECT_EQ(route_tag("t", ""), "t");
}

}  // namespace
}  // namespace sluice::queue_proxy
