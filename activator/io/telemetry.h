#pragma once

#include "activator/io/front_gateway.h"
#include "activator/io/revision_names.h"
#include "common/log/failure_log.h"
#include "common/log/log.h"
#include "common/log/request_log.h"
#include "common/log/request_log_sink.h"
#include "common/metrics/families.h"
#include "common/metrics/histogram.h"
#include "common/metrics/millisecond_histogram.h"
#include "common/settings/observability.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::activator {

/// What the activator reports of its requests: metrics by revision, the request log, and a line in
/// the program's own log for failures (METRICS.md). A revision costs memory from its first request
/// on.
class Telemetry {
 public:
  using NamesOf = std::function<const RevisionNames&(RevisionHandle)>;

  /// `pod`: this activator's. `log` outlives it; `now`: the program's start.
  Telemetry(boost::asio::io_context& io, const settings::ObservabilityConfig& config,
            std::string pod, const log::Logger& log, TimePoint now);

  /// A request of a revision has ended.
  void served(RevisionHandle revision, const RevisionId& id, const RevisionNames& names,
              const Served& served, TimePoint now);

  /// What is reported to the autoscaler of a revision for the interval that ended.
  void reported(RevisionHandle revision, double concurrency);

  /// The revision is about to go.
  void forget(RevisionHandle revision);

  /// Everything about requests, for one scrape.
  void write(metrics::Families& families, const FrontGateway& front, const NamesOf& names_of) const;

  /// Writes what is left of the request log, at exit.
  void flush() { sink_.flush(); }

 private:
  /// Who made an answer that no pod made, or ended the request: label `reason`.
  enum class Reason : std::uint8_t {
    none,
    queue_full,
    queue_wait,
    timeout,
    cannot_scale,
    start_failed,
    draining,
    no_route,
    upstream,
    client_gone,
    asleep,
    other,
    count,
  };

  struct Series {
    std::uint32_t key = 0;
    metrics::Histogram<14> duration;
    metrics::Histogram<20> request_size;
    metrics::Histogram<20> response_size;
  };

  struct OlderSeries {
    int status = 0;  // 0: what lies beyond the bound
    metrics::MillisecondHistogram latency;
  };

  struct Revision {
    RevisionHandle handle{};
    double concurrency = 0;
    std::vector<Series> series;      // few: by method, status and version
    std::vector<OlderSeries> older;  // few: by status; of an older Knative's, instead
  };

  [[nodiscard]] static Reason reason_of(const Served& served);
  [[nodiscard]] static metrics::Labels labels_of(std::uint32_t key);
  [[nodiscard]] Revision& revision_of(RevisionHandle handle);
  [[nodiscard]] static Series& series_of(Revision& revision, const Served& served, int status);
  static void count(Series& series, const Served& served);
  static void count_older(Revision& revision, int status, Duration took);
  void write_older(metrics::Families& families, const FrontGateway& front,
                   const NamesOf& names_of) const;
  void log_request(const RevisionId& id, const RevisionNames& names, const Served& served,
                   int status);
  void tell_failure(const RevisionId& id, const Served& served, Reason reason, TimePoint now);
  void write_revisions(metrics::Families& families, const FrontGateway& front,
                       const NamesOf& names_of) const;
  void write_server(metrics::Families& families, const FrontGateway& front,
                    const NamesOf& names_of) const;
  void write_queues(metrics::Families& families, const FrontGateway& front) const;

  const log::Logger& log_;
  log::FailureLog failures_;
  std::string pod_;
  log::RequestLog request_log_;
  log::RequestLogSink sink_;
  double started_;
  std::vector<std::unique_ptr<Revision>> revisions_;  // by index_of; null until its first request
  std::array<std::uint64_t, static_cast<std::size_t>(Reason::count)> reasons_{};
  metrics::Histogram<14> upstream_;  // the way to the pod and back
};

}  // namespace sluice::activator
