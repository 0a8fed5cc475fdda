#pragma once

#include "common/metrics/millisecond_histogram.h"
#include "queue-proxy/core/request_metrics.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::queue_proxy {

/// The request metrics under the names and labels of a Knative before OBSERVABILITY_CONFIG
/// (queue-proxy.md 12), counted by one thread. A client can choose route and, through the
/// container, status: beyond kSeriesMax of them one series without a status takes the rest.
class OlderMetrics {
 public:
  static constexpr std::size_t kSeriesMax = 200;  ///< of each family
  static constexpr std::size_t kRouteMax = 63;    ///< a tag is a DNS label; longer ones share one

  explicit OlderMetrics(MetricsIdentity identity) : identity_{std::move(identity)} {}

  /// A request that is no probe has ended. Only the first of its kind allocates.
  void leave(const RequestRecord& record);

  /// All families. `queue`: absent without a breaker.
  void write(metrics::Families& families, const std::optional<QueueLoad>& queue) const;

 private:
  struct Series {
    std::string route;  // empty where routes are not distinguished
    int status = 0;     // 0: what lies beyond the bound
    metrics::Labels labels;
    metrics::MillisecondHistogram latency;
  };

  using Family = std::vector<Series>;

  [[nodiscard]] Series& series_of(Family& family, std::string_view route, int status);
  [[nodiscard]] metrics::Labels labels_of(std::string_view route, int status) const;
  static void write_family(metrics::Families& families, const Family& family,
                           std::string_view counter, std::string_view histogram);

  MetricsIdentity identity_;
  Family requests_;
  Family app_;
};

}  // namespace sluice::queue_proxy
