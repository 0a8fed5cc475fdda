#include "queue-proxy/io/telemetry.h"

#include "common/base/version.h"
#include "common/net/server/process_facts.h"
#include "queue-proxy/core/route_tag.h"

#include <unistd.h>

namespace sluice::queue_proxy {
namespace {

using http::Known;

std::string first_of(std::initializer_list<const std::string*> names) {
  for (const std::string* name : names) {
    if (!name->empty()) return *name;
  }
  return {};
}

MetricsIdentity identity_of(const Config& config) {
  return {.version = std::string{kVersion},
          .service_name = first_of({&config.observability.service_name, &config.service,
                                    &config.configuration, &config.revision, &config.pod}),
          .space = config.space,
          .service = config.service,
          .configuration = config.configuration,
          .revision = config.revision,
          .pod = config.pod,
          .user_port = config.user.is_unix() ? "" : std::to_string(config.user.port)};
}

log::LoggedRevision revision_of(const Config& config) {
  return {.name = config.revision,
          .space = config.space,
          .service = config.service,
          .configuration = config.configuration,
          .pod = config.pod,
          .pod_ip = config.pod_ip};
}

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Telemetry::Telemetry(boost::asio::io_context& io, const Config& config, const log::Logger& log,
                     TimePoint now)
    : log_{log},
      failures_{log},
      logged_{revision_of(config)},
      request_log_{config.observability.request_log},
      sink_{io, STDOUT_FILENO, log},
      started_{to_seconds(now.time_since_epoch())},
      probes_logged_{config.observability.probes_logged} {
  if (config.observability.metrics) {
    metrics_.emplace(identity_of(config));
    if (config.observability.contract == settings::KnativeContract::older) {
      older_metrics_.emplace(identity_of(config));
    }
  }
  for (const std::string& warning : config.observability.warnings) {
    log_.write(log::Severity::warning, warning);
  }
  if (!request_log_.warning().empty()) {
    log_.write(log::Severity::warning, request_log_.warning() + "; the default template is used");
  }
}

void Telemetry::enter(const http::RequestHead& head, bool secure) {
  if (metrics_) metrics_->enter(head.method, secure);
}

void Telemetry::leave(RequestRecord record, TimePoint now) {
  if (metrics_) {
    const http::FieldList& fields = record.head.fields;
    record.route = route_tag(fields.get(Known::knative_serving_tag),
                             fields.get(Known::knative_serving_default_route));
    metrics_->leave(record);
    if (older_metrics_) older_metrics_->leave(record);
  }
  if (request_log_.enabled()) append_line(record);
  if (record.status >= 500 && record.cause != Cause::none) tell_failure(record, now);
}

void Telemetry::probed(const RequestRecord& record) {
  if (probes_logged_ && request_log_.enabled()) append_line(record);
}

void Telemetry::append_line(const RequestRecord& record) {
  std::string* line = sink_.line();
  if (line == nullptr) return;
  request_log_.append(*line, {.head = record.head,
                              .revision = logged_,
                              .peer_ip = record.peer_ip,
                              .status = record.status,
                              .latency = record.latency,
                              .response_bytes = record.response_bytes});
  sink_.appended();
}

void Telemetry::tell_failure(const RequestRecord& record, TimePoint now) {
  if (!failures_.admits(now)) return;
  log_.write(log::Severity::warning, "request failed",
             {{"cause", std::string{name_of(record.cause)}},
              {"status", std::to_string(record.status)},
              {"method", record.head.method},
              {"queued_ms", milliseconds(record.queued)},
              {"latency_ms", milliseconds(record.latency)},
              {"trace_id", std::string{log::trace_id(record.head.fields)}}});
  // Whether ports or sockets ran out is seen nowhere else (queue-proxy.md 9).
  if (record.status == 502) {
    log_.write(log::Severity::error, "cannot reach the container",
               {{"sockstat", metrics::socket_counts()}});
  }
}

void Telemetry::write(metrics::Families& families, const std::optional<QueueLoad>& queue) const {
  if (!metrics_) return;
  if (older_metrics_) {
    older_metrics_->write(families, queue);
    metrics_->write_own(families, queue);
  } else {
    metrics_->write(families, queue);
  }
  families.counter("sluice_request_log_dropped_total",
                   "Request log lines dropped because standard output was not read.",
                   sink_.dropped());
  metrics::write_process_facts(families, started_);
}

void Telemetry::flush() {
  sink_.flush();
}

}  // namespace sluice::queue_proxy
