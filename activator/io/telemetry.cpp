#include "activator/io/telemetry.h"

#include "activator/io/front_metrics.h"
#include "common/base/version.h"
#include "common/net/server/process_facts.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace sluice::activator {

using metrics::Families;
using metrics::kBytes;
using metrics::kSeconds;
using metrics::Labels;
using metrics::MetricType;

namespace {

// Methods, statuses and versions of one revision; what is beyond shares one series.
constexpr std::size_t kSeriesMax = 64;
constexpr std::uint32_t kOverflow = 0xffff'ffffU;

constexpr std::array<std::string_view, 10> kMethods{
    "_OTHER", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"};

constexpr std::array<std::string_view, 4> kPolicies{"first-available", "round-robin",
                                                    "random-choice-2", "least-in-flight"};
constexpr std::array<std::string_view, 3> kRefusals{"unreachable", "draining", "queue-full"};
constexpr std::array<std::string_view, FrontCounts::kStarts> kStarts{"warm", "cold"};

constexpr std::array<std::string_view, 12> kReasons{
    "",         "queue-full", "queue-wait", "timeout",     "cannot-scale", "start-failed",
    "draining", "no-route",   "upstream",   "client-gone", "asleep",       "other"};

std::uint32_t method_index(std::string_view method) {
  const auto found = std::find(kMethods.begin() + 1, kMethods.end(), method);
  return found == kMethods.end() ? 0 : static_cast<std::uint32_t>(found - kMethods.begin());
}

// Who left, or took nothing more, is 499, never a 5xx; an answer broken off is 500, and one cut by
// a timer 504.
int recorded_status(const net::Outcome& outcome) {
  switch (outcome.end) {
    case net::Outcome::End::client_gone:
      return outcome.status == 101 ? 101 : 499;
    case net::Outcome::End::aborted:
      return outcome.status == 101 ? 101 : 500;
    case net::Outcome::End::timed_out:
      if (outcome.timer == net::Timer::write) return outcome.status == 101 ? 101 : 499;
      return outcome.timer == net::Timer::header || outcome.timer == net::Timer::body ? 408 : 504;
    case net::Outcome::End::answered:
    case net::Outcome::End::own:
      break;
  }
  return outcome.status;
}

Labels revision_labels(const RevisionId& id, const RevisionNames& names) {
  return {{"kn_service_name", names.service},
          {"kn_configuration_name", names.configuration},
          {"kn_revision_name", id.name},
          {"k8s_namespace_name", id.space}};
}

bool is_older(const RevisionNames& names) {
  return names.contract == settings::KnativeContract::older;
}

// As an activator of that time names what it measures (activator.md 11).
Labels older_labels(const RevisionId& id, const RevisionNames& names, const std::string& pod,
                    int status) {
  const std::string code = status == 0 ? std::string{} : std::to_string(status);
  const std::string code_class = status == 0 ? std::string{} : std::to_string(status / 100) + "xx";
  return {{"configuration_name", names.configuration},
          {"container_name", "activator"},
          {"namespace_name", id.space},
          {"pod_name", pod},
          {"response_code", code},
          {"response_code_class", code_class},
          {"revision_name", id.name},
          {"service_name", names.service}};
}

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Telemetry::Telemetry(boost::asio::io_context& io, const settings::ObservabilityConfig& config,
                     std::string pod, const log::Logger& log, TimePoint now)
    : log_{log},
      failures_{log},
      pod_{std::move(pod)},
      request_log_{config.request_log},
      sink_{io, STDOUT_FILENO, log},
      started_{to_seconds(now.time_since_epoch())} {
  for (const std::string& warning : config.warnings) {
    log_.write(log::Severity::warning, warning);
  }
  if (!request_log_.warning().empty()) {
    log_.write(log::Severity::warning, request_log_.warning() + "; the default template is used");
  }
}

Telemetry::Reason Telemetry::reason_of(const Served& served) {
  const net::Outcome& outcome = served.outcome;
  switch (outcome.end) {
    case net::Outcome::End::answered:
      return Reason::none;
    case net::Outcome::End::client_gone:
      return outcome.status == 101 ? Reason::none : Reason::client_gone;
    case net::Outcome::End::aborted:
      return outcome.status == 101 ? Reason::none : Reason::upstream;
    case net::Outcome::End::timed_out:
      if (outcome.timer != net::Timer::write) return Reason::timeout;
      return outcome.status == 101 ? Reason::none : Reason::client_gone;
    case net::Outcome::End::own:
      break;
  }
  if (!outcome.error) return Reason::none;
  switch (*outcome.error) {
    case Error::queue_full:
      return Reason::queue_full;
    case Error::queue_wait:
      return Reason::queue_wait;
    case Error::deadline_exceeded:
      return Reason::timeout;
    case Error::cannot_scale:
      return served.asleep ? Reason::asleep : Reason::cannot_scale;
    case Error::start_failed:
      return Reason::start_failed;
    case Error::draining:
      return Reason::draining;
    case Error::no_route:
      return Reason::no_route;
    case Error::upstream_connect:
    case Error::upstream_reset:
    case Error::upstream_invalid:
      return Reason::upstream;
    case Error::client_gone:
      return Reason::client_gone;
    case Error::not_ready:
    case Error::bad_request:
    case Error::too_large:
    case Error::io_failed:
    case Error::invalid_config:
      break;
  }
  return Reason::other;
}

Telemetry::Revision& Telemetry::revision_of(RevisionHandle handle) {
  const std::size_t index = index_of(handle);
  if (revisions_.size() <= index) revisions_.resize(index + 1);
  auto& revision = revisions_[index];
  if (!revision) {
    revision = std::make_unique<Revision>();
    revision->handle = handle;
  }
  return *revision;
}

Telemetry::Series& Telemetry::series_of(Revision& revision, const Served& served, int status) {
  const std::uint32_t version = served.head.version_major == 2 ? 2U : 1U;
  std::uint32_t key = method_index(served.head.method) << 16U | version << 14U |
                      (served.secure ? 1U : 0U) << 13U | static_cast<std::uint32_t>(status) % 1024U;
  for (const std::uint32_t wanted : {key, kOverflow}) {
    for (Series& series : revision.series) {
      if (series.key == wanted) return series;
    }
    if (revision.series.size() < kSeriesMax) break;
    key = kOverflow;
  }
  Series& added = revision.series.emplace_back();
  added.key = key;
  return added;
}

Labels Telemetry::labels_of(std::uint32_t key) {
  if (key == kOverflow) return {{"http_request_method", "_OTHER"}};
  const std::string status = std::to_string(key % 1024U);
  return {{"http_request_method", kMethods[key >> 16U]},
          {"url_scheme", (key >> 13U & 1U) != 0 ? "https" : "http"},
          {"network_protocol_name", "http"},
          {"network_protocol_version", (key >> 14U & 3U) == 2 ? "2" : "1.1"},
          {"http_response_status_code", status}};
}

void Telemetry::count(Series& series, const Served& served) {
  const std::int64_t took = std::max<std::int64_t>(0, served.took.count());
  series.duration.observe(kSeconds.find(took), took);
  const auto sent = static_cast<std::int64_t>(served.traffic.request_bytes);
  const auto got = static_cast<std::int64_t>(served.traffic.response_bytes);
  series.request_size.observe(kBytes.find(sent), sent);
  series.response_size.observe(kBytes.find(got), got);
}

void Telemetry::count_older(Revision& revision, int status, Duration took) {
  const auto find = [&revision](int wanted) {
    return std::find_if(revision.older.begin(), revision.older.end(),
                        [wanted](const OlderSeries& series) { return series.status == wanted; });
  };
  auto found = find(status);
  if (found == revision.older.end() && revision.older.size() + 1 >= kSeriesMax) {
    status = 0;
    found = find(status);
  }
  if (found != revision.older.end()) return found->latency.observe(took);
  revision.older.push_back({status, {}});
  revision.older.back().latency.observe(took);
}

void Telemetry::served(RevisionHandle handle, const RevisionId& id, const RevisionNames& names,
                       const Served& served, TimePoint now) {
  const int status = recorded_status(served.outcome);
  if (is_older(names)) {
    count_older(revision_of(handle), status, served.took);
  } else {
    count(series_of(revision_of(handle), served, status), served);
  }
  if (served.dispatched) {
    const std::int64_t way = std::max<std::int64_t>(0, (served.took - served.waited).count());
    upstream_.observe(kSeconds.find(way), way);
  }
  const Reason reason = reason_of(served);
  ++reasons_[static_cast<std::size_t>(reason)];
  if (request_log_.enabled()) log_request(id, names, served, status);
  // A client whose requests do not wake a service at zero sends them all the time.
  if (status >= 500 && reason != Reason::none && reason != Reason::asleep)
    tell_failure(id, served, reason, now);
}

void Telemetry::log_request(const RevisionId& id, const RevisionNames& names, const Served& served,
                            int status) {
  std::string* line = sink_.line();
  if (line == nullptr) return;
  const log::LoggedRevision revision{.name = id.name,
                                     .space = id.space,
                                     .service = names.service,
                                     .configuration = names.configuration,
                                     .pod = {},
                                     .pod_ip = {}};
  request_log_.append(*line, {.head = served.head,
                              .revision = revision,
                              .peer_ip = served.client,
                              .status = status,
                              .latency = served.took,
                              .response_bytes = served.traffic.response_bytes});
  sink_.appended();
}

void Telemetry::tell_failure(const RevisionId& id, const Served& served, Reason reason,
                             TimePoint now) {
  if (!failures_.admits(now)) return;
  log_.write(log::Severity::warning, "request failed",
             {{"revision", id.space + "/" + id.name},
              {"reason", std::string{kReasons[static_cast<std::size_t>(reason)]}},
              {"method", served.head.method},
              {"waited_ms", milliseconds(served.waited)},
              {"latency_ms", milliseconds(served.took)},
              {"trace_id", std::string{log::trace_id(served.head.fields)}}});
}

void Telemetry::reported(RevisionHandle revision, double concurrency) {
  revision_of(revision).concurrency = concurrency;
}

void Telemetry::forget(RevisionHandle revision) {
  const std::size_t index = index_of(revision);
  if (index < revisions_.size()) revisions_[index].reset();
}

void Telemetry::write(Families& families, const FrontGateway& front,
                      const NamesOf& names_of) const {
  families.family("sluice_build_info", MetricType::gauge, "The version of this program.");
  families.value({{"version", kVersion}}, 1);
  write_revisions(families, front, names_of);
  write_older(families, front, names_of);
  write_server(families, front, names_of);
  write_queues(families, front);
  families.family("http_client_request_duration_seconds", MetricType::histogram,
                  "Time from choosing a pod to the end of its response.");
  families.histogram({}, upstream_.view(kSeconds));
  families.counter("sluice_request_log_dropped_total",
                   "Request log lines dropped because standard output was not read.",
                   sink_.dropped());
  metrics::write_process_facts(families, started_);
}

void Telemetry::write_revisions(Families& families, const FrontGateway& front,
                                const NamesOf& names_of) const {
  std::vector<NamedRevision> counted;
  families.family("kn_revision_request_concurrency", MetricType::gauge,
                  "Average concurrency as reported to the autoscaler.");
  for (const auto& revision : revisions_) {
    if (!revision || is_older(names_of(revision->handle))) continue;
    const RevisionId& id = front.id_of(revision->handle);
    families.value(revision_labels(id, names_of(revision->handle)), revision->concurrency);
    counted.push_back(
        {revision->handle, {{"k8s_namespace_name", id.space}, {"kn_revision_name", id.name}}});
  }
  write_request_gauges(families, front, counted);
}

// Nothing at all where no revision is an older Knative's.
void Telemetry::write_older(Families& families, const FrontGateway& front,
                            const NamesOf& names_of) const {
  std::vector<const Revision*> older;
  for (const auto& revision : revisions_) {
    if (revision && is_older(names_of(revision->handle))) older.push_back(revision.get());
  }
  if (older.empty()) return;
  const auto labels = [&](const Revision& revision, int status) {
    return older_labels(front.id_of(revision.handle), names_of(revision.handle), pod_, status);
  };
  families.family("activator_request_concurrency", MetricType::gauge,
                  "Average concurrency as reported to the autoscaler.");
  for (const Revision* revision : older)
    families.value(labels(*revision, 0), revision->concurrency);
  families.family("activator_request_count", MetricType::counter, "Completed requests.");
  for (const Revision* revision : older) {
    for (const OlderSeries& series : revision->older) {
      families.value(labels(*revision, series.status), series.latency.count());
    }
  }
  families.family("activator_request_latencies", MetricType::histogram,
                  "Request latency in milliseconds, including the wait for a pod.");
  for (const Revision* revision : older) {
    for (const OlderSeries& series : revision->older) {
      families.histogram(labels(*revision, series.status), series.latency.view());
    }
  }
}

void Telemetry::write_server(Families& families, const FrontGateway& front,
                             const NamesOf& names_of) const {
  const auto each = [&](auto histogram) {
    for (const auto& revision : revisions_) {
      if (!revision) continue;
      const Labels owner =
          revision_labels(front.id_of(revision->handle), names_of(revision->handle));
      for (const Series& series : revision->series) {
        families.histogram(labels_of(series.key).with(owner), histogram(series));
      }
    }
  };
  families.family("http_server_request_duration_seconds", MetricType::histogram,
                  "Duration of requests, including the wait for a pod.");
  each([](const Series& series) { return series.duration.view(kSeconds); });
  families.family("http_server_request_body_size_bytes", MetricType::histogram,
                  "Size of request bodies sent to the pod.");
  each([](const Series& series) { return series.request_size.view(kBytes); });
  families.family("http_server_response_body_size_bytes", MetricType::histogram,
                  "Size of response bodies sent to the client.");
  each([](const Series& series) { return series.response_size.view(kBytes); });
}

void Telemetry::write_queues(Families& families, const FrontGateway& front) const {
  const FrontCounts& counts = front.counts();
  families.gauge("sluice_activator_requests", "Requests in progress.", front.in_flight());
  families.gauge("sluice_activator_queue_waiting", "Requests waiting for a pod, of all revisions.",
                 front.queued().waiting());
  families.gauge("sluice_activator_queue_bytes", "Memory held by waiting requests.",
                 front.queued().bytes());
  families.family("sluice_activator_queue_wait_seconds", MetricType::histogram,
                  "Time waited for a pod; 0 for requests that got one at once.");
  for (std::size_t start = 0; start < FrontCounts::kStarts; ++start) {
    families.histogram({{"start", kStarts[start]}}, counts.wait[start].view(kSeconds));
  }
  families.family("sluice_activator_queue_depth", MetricType::histogram,
                  "Requests already waiting when one joins a revision's queue.");
  for (std::size_t start = 0; start < FrontCounts::kStarts; ++start) {
    families.histogram({{"start", kStarts[start]}}, counts.depth[start].view(kDepths));
  }
  families.family("sluice_activator_choices_total", MetricType::counter, "Pods chosen.");
  for (std::size_t policy = 0; policy < kPolicies.size(); ++policy) {
    families.value({{"policy", kPolicies[policy]}}, counts.choices[policy]);
  }
  families.family("sluice_activator_retries_total", MetricType::counter,
                  "Requests sent to another pod after the first did not take them.");
  for (std::size_t refusal = 0; refusal < kRefusals.size(); ++refusal) {
    families.value({{"reason", kRefusals[refusal]}}, counts.retries[refusal]);
  }
  families.family("sluice_activator_refused_total", MetricType::counter,
                  "Requests that no pod answered.");
  for (std::size_t reason = 1; reason < kReasons.size(); ++reason) {
    std::uint64_t count = reasons_[reason];
    if (reason == static_cast<std::size_t>(Reason::no_route)) count += counts.unrouted;
    if (reason == static_cast<std::size_t>(Reason::other)) count += counts.unread;
    families.value({{"reason", kReasons[reason]}}, count);
  }
  families.counter(
      "sluice_activator_ignored_total",
      "Requests that match an ignore rule: not counted, and no pod is started for them.",
      counts.ignored);
  families.counter("sluice_activator_probes_answered_total",
                   "Probes answered by the activator itself.", counts.probes);
}

}  // namespace sluice::activator
