#pragma once

#include "common/metrics/histogram.h"
#include "queue-proxy/core/request_record.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::queue_proxy {

/// What does not change while the sidecar runs, for target_info and sluice_build_info.
struct MetricsIdentity {
  std::string version;       ///< of this program
  std::string service_name;  ///< `service.name`; see ObservabilityConfig
  std::string space;
  std::string service;
  std::string configuration;
  std::string revision;
  std::string pod;
  std::string user_port;  ///< of the container, for http_client_*
};

/// How full the breaker is now.
struct QueueLoad {
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t capacity = 0;
};

/// The request metrics of queue-proxy.md 12, counted by one thread. METRICS.md lists them.
///
/// A series is found by numbers: route, protocol, method and status are small indices into a table
/// that points at it. Only the first request of its kind allocates. What a client can choose is
/// bounded: methods are those of the standard, routes at most kRoutesMax, kinds of series at most
/// kSeriesMax; what lies beyond is counted under `_OTHER`, `kn:other` and
/// `otel_metric_overflow="true"`.
class RequestMetrics {
 public:
  static constexpr std::size_t kRoutesMax = 16;   ///< more than the routes of any revision
  static constexpr std::size_t kSeriesMax = 200;  ///< some 15 KiB of exposition each
  static constexpr std::size_t kStatusesMax = 63;

  explicit RequestMetrics(MetricsIdentity identity);
  ~RequestMetrics();
  RequestMetrics(const RequestMetrics&) = delete;
  RequestMetrics& operator=(const RequestMetrics&) = delete;

  /// A request that is no probe has begun; it owes one `leave` with the same answer.
  void enter(std::string_view method, bool secure);

  /// It has ended.
  void leave(const RequestRecord& record);

  /// All families. `queue`: absent without a breaker.
  void write(metrics::Families& families, const std::optional<QueueLoad>& queue) const;

  /// Only those named sluice_*, where OlderMetrics has those of the reference.
  void write_own(metrics::Families& families, const std::optional<QueueLoad>& queue) const;

 private:
  struct ClientSeries;
  struct Series;
  struct Route;

  static constexpr std::size_t kMethods = 10;
  static constexpr std::size_t kProtocols = 6;  // 1.0, 1.1, 2, each with and without TLS
  static constexpr std::size_t kSlots = kStatusesMax + 1;

  struct Kind {
    std::size_t method;
    std::size_t protocol;
    std::size_t slot;  // of the status; 0 = beyond the table
  };

  struct Active {
    std::int64_t now = 0;
    bool seen = false;
  };

  [[nodiscard]] std::size_t slot_of(int status);
  [[nodiscard]] Route& route_of(std::string_view name);
  [[nodiscard]] Series& series_of(Route& route, const Kind& kind);
  [[nodiscard]] ClientSeries& client_of(const Kind& kind);
  [[nodiscard]] std::string status_text(std::size_t slot) const;
  void write_server(metrics::Families& families) const;
  void write_client(metrics::Families& families) const;
  void write_app(metrics::Families& families) const;
  void write_queue(metrics::Families& families, const std::optional<QueueLoad>& queue) const;
  void write_responses(metrics::Families& families) const;
  void write_identity(metrics::Families& families) const;
  void write_build(metrics::Families& families) const;

  MetricsIdentity identity_;
  std::array<std::uint8_t, 600> slots_{};         // by status; 0 = not seen
  std::array<std::uint16_t, kSlots> statuses_{};  // by slot
  std::size_t statuses_seen_ = 0;
  std::vector<std::unique_ptr<Route>> routes_;          // [0] is kn:disabled, [1] kn:other
  std::vector<std::unique_ptr<Series>> series_;         // [0] takes what lies beyond the bounds
  std::vector<std::unique_ptr<ClientSeries>> clients_;  // [0] likewise
  std::array<std::uint8_t, kMethods * kProtocols * kSlots> client_places_{};
  std::array<metrics::Histogram<14>, kSlots> app_{};  // by slot
  metrics::Histogram<14> queue_wait_;
  std::array<std::array<Active, 2>, kMethods> active_{};      // by method and TLS
  std::vector<std::array<std::uint64_t, kSlots>> responses_;  // by cause and slot
};

}  // namespace sluice::queue_proxy
