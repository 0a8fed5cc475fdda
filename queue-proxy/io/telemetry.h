#pragma once

#include "common/log/failure_log.h"
#include "common/log/log.h"
#include "common/log/request_log.h"
#include "common/log/request_log_sink.h"
#include "queue-proxy/core/older_metrics.h"
#include "queue-proxy/core/request_metrics.h"
#include "queue-proxy/io/config.h"

#include <optional>

namespace sluice::queue_proxy {

/// What the sidecar reports of its requests: metrics, the request log, and a line in the program's
/// own log for each failure of the sidecar's making. What is not configured costs a branch.
class Telemetry {
 public:
  /// Logs at once which settings have no effect. `log` outlives it; `now`: the program's start.
  Telemetry(boost::asio::io_context& io, const Config& config, const log::Logger& log,
            TimePoint now);

  /// A request that is no probe has begun; it owes one `leave`.
  void enter(const http::RequestHead& head, bool secure);

  /// It has ended. The field `route` is filled in here.
  void leave(RequestRecord record, TimePoint now);

  /// A probe (P2 of queue-proxy.md 4) has been answered: never measured, logged when enabled.
  void probed(const RequestRecord& record);

  /// All metrics, for one scrape.
  void write(metrics::Families& families, const std::optional<QueueLoad>& queue) const;

  /// Writes what is left of the request log, at exit.
  void flush();

 private:
  void append_line(const RequestRecord& record);
  void tell_failure(const RequestRecord& record, TimePoint now);

  const log::Logger& log_;
  log::FailureLog failures_;
  std::optional<RequestMetrics> metrics_;
  std::optional<OlderMetrics> older_metrics_;  // where the Knative around us has those names
  log::LoggedRevision logged_;
  log::RequestLog request_log_;
  log::RequestLogSink sink_;
  double started_;
  bool probes_logged_;
};

}  // namespace sluice::queue_proxy
