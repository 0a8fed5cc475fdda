#include "queue-proxy/core/older_metrics.h"

#include "queue-proxy/core/route_tag.h"

namespace sluice::queue_proxy {

using metrics::Families;
using metrics::MetricType;

namespace {

constexpr std::string_view kOtherRoute = "OTHER";

}  // namespace

void OlderMetrics::leave(const RequestRecord& record) {
  std::string_view route = older_route_tag(record.route);
  if (route.size() > kRouteMax) route = kOtherRoute;
  series_of(requests_, route, record.status).latency.observe(record.latency);
  if (record.app) series_of(app_, {}, record.status).latency.observe(*record.app);
}

OlderMetrics::Series& OlderMetrics::series_of(Family& family, std::string_view route, int status) {
  if (status < 100 || status > 999) status = 0;
  const auto find = [&]() -> Series* {
    for (Series& series : family) {
      if (series.status == status && series.route == route) return &series;
    }
    return nullptr;
  };
  if (Series* series = find()) return *series;
  // The last place is that of the rest.
  if (family.size() + 1 >= kSeriesMax) {
    status = 0;
    if (!route.empty()) route = kOtherRoute;
    if (Series* series = find()) return *series;
  }
  return family.emplace_back(Series{std::string{route}, status, labels_of(route, status), {}});
}

metrics::Labels OlderMetrics::labels_of(std::string_view route, int status) const {
  const std::string code = status == 0 ? std::string{} : std::to_string(status);
  const std::string code_class = status == 0 ? std::string{} : std::to_string(status / 100) + "xx";
  return {{"configuration_name", identity_.configuration},
          {"container_name", "queue-proxy"},
          {"namespace_name", identity_.space},
          {"pod_name", identity_.pod},
          {"response_code", code},
          {"response_code_class", code_class},
          {"revision_name", identity_.revision},
          {"route_tag", route},
          {"service_name", identity_.service}};
}

void OlderMetrics::write(Families& families, const std::optional<QueueLoad>& queue) const {
  write_family(families, requests_, "revision_request_count", "revision_request_latencies");
  write_family(families, app_, "revision_app_request_count", "revision_app_request_latencies");
  if (!queue) return;
  families.family("revision_queue_depth", MetricType::gauge,
                  "Requests in the container or waiting for a slot.");
  families.value(labels_of({}, 0), static_cast<double>(queue->running + queue->waiting));
}

void OlderMetrics::write_family(Families& families, const Family& family, std::string_view counter,
                                std::string_view histogram) {
  families.family(counter, MetricType::counter, "Completed requests.");
  for (const Series& series : family) families.value(series.labels, series.latency.count());
  families.family(histogram, MetricType::histogram, "Request latency in milliseconds.");
  for (const Series& series : family) families.histogram(series.labels, series.latency.view());
}

}  // namespace sluice::queue_proxy
