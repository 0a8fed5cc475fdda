#include "common/metrics/page.h"

#include "common/metrics/exposition.h"
#include "common/metrics/static_page.h"
#include "queue-proxy/core/older_metrics.h"
#include "queue-proxy/core/request_metrics.h"

#include <gtest/gtest.h>

#include <prometheus/metric_family.h>

namespace sluice::metrics {
namespace {

using namespace std::chrono_literals;

std::string text_of(std::function<void(Families&)> write) {
  std::string text;
  Page{std::move(write)}(text);
  return text;
}

// The sidecar has the text that Knative's has for bounds from a million on.
std::string with_plain_bounds(std::string text) {
  for (const auto& [short_form, plain] : {std::pair{"1e+06", "1000000"},
                                          {"1e+07", "10000000"},
                                          {"1e+08", "100000000"},
                                          {"1e+09", "1000000000"}}) {
    const std::string from = std::string{"le=\""} + short_form + "\"";
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
      text.replace(at, from.size(), std::string{"le=\""} + plain + "\"");
    }
  }
  return text;
}

// All that a busy sidecar says of its requests, under the names of both contracts.
class Sidecar {
 public:
  Sidecar() {
    for (const int status : {200, 404, 503, 999}) {
      for (const char* method : {"GET", "POST", "BREW"}) {
        for (const char* route : {"kn:disabled", "green"}) serve(status, method, route);
      }
    }
  }

  void write(Families& families) const {
    constexpr queue_proxy::QueueLoad kLoad{.running = 3, .waiting = 2, .capacity = 3};
    older_.write(families, kLoad);
    current_.write(families, kLoad);
  }

 private:
  void serve(int status, const char* method, const char* route) {
    http::RequestHead head;
    head.method = method;
    queue_proxy::RequestRecord record{
        .head = head, .route = route, .bounded = true, .status = status, .latency = 20ms};
    record.queued = Duration{++served_ * 1'234'567};
    record.app = record.queued + Duration{7};
    record.request_bytes = 3;
    record.response_bytes = static_cast<std::uint64_t>(served_) * 1'000'003;
    if (status == 503) record.cause = queue_proxy::Cause::queue_full;
    current_.enter(head.method, false);
    current_.leave(record);
    older_.leave(record);
  }

  queue_proxy::MetricsIdentity identity_{
      "1.0.0", "a \"quoted\" \\ back\nslash, é", "prod", "shop", "", "shop-00001", "shop-00001-x",
      "8080"};
  queue_proxy::RequestMetrics current_{identity_};
  queue_proxy::OlderMetrics older_{identity_};
  std::int64_t served_ = 0;
};

TEST(Page, OfASidecarIsTheTextThatTheSidecarWrites) {
  const Sidecar sidecar;
  std::string written;
  Exposition text{written};
  sidecar.write(text);

  EXPECT_GT(written.size(), 50'000U);
  EXPECT_EQ(with_plain_bounds(written),
            text_of([&sidecar](Families& families) { sidecar.write(families); }));
}

TEST(StaticPage, OfASidecarIsTheTextThatTheSidecarWrites) {
  Sidecar sidecar;
  std::string written;
  Exposition text{written};
  sidecar.write(text);
  std::string page;
  StaticPage{[&sidecar](Families& families) { sidecar.write(families); }}(page);

  EXPECT_EQ(page, written);
}

TEST(StaticPage, JoinsFamiliesAsAPageDoes) {
  const auto write = [](Families& families) {
    families.gauge("a", "A.", 1);
    families.counter("b_total", "B.", 2);
    families.gauge("a", "Another help.", 3);
  };
  std::string page;
  StaticPage{write}(page);

  EXPECT_EQ(page, text_of(write));
}

TEST(Page, JoinsAFamilyThatSeveralWrite) {
  const std::string text = text_of([](Families& families) {
    families.family("a_total", MetricType::counter, "What it counts.");
    families.value({{"by", "x"}}, 1);
    families.gauge("b", "What it is.", 0.5);
    families.family("a_total", MetricType::counter, "Another help.");
    families.value({{"by", "y"}, {"empty", ""}}, std::uint64_t{2});
  });

  EXPECT_EQ(text,
            "# HELP a_total What it counts.\n"
            "# TYPE a_total counter\n"
            "a_total{by=\"x\"} 1\n"
            "a_total{by=\"y\"} 2\n"
            "# HELP b What it is.\n"
            "# TYPE b gauge\n"
            "b 0.5\n");
}

TEST(Page, IsCollectedByPrometheusAfreshEachTime) {
  int counted = 0;
  const Page page{[&counted](Families& families) { families.counter("a_total", "A.", ++counted); }};
  const prometheus::Collectable& collectable = page;

  EXPECT_EQ(collectable.Collect().at(0).metric.at(0).counter.value, 1);
  EXPECT_EQ(collectable.Collect().at(0).metric.at(0).counter.value, 2);
}

}  // namespace
}  // namespace sluice::metrics
