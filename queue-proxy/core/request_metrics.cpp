#include "queue-proxy/core/request_metrics.h"

#include <algorithm>
#include <iterator>

namespace sluice::queue_proxy {

using metrics::Families;
using metrics::Histogram;
using metrics::HistogramView;
using metrics::kBytes;
using metrics::kSeconds;
using metrics::Labels;
using metrics::MetricType;

namespace {

constexpr std::array<std::string_view, 10> kMethodNames{
    "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "_OTHER"};
constexpr std::array<std::string_view, 3> kVersions{"1.0", "1.1", "2"};
constexpr std::string_view kNoRoute = "kn:disabled";
constexpr std::size_t kPlainRoute = 0;
constexpr std::size_t kOtherRoute = 1;
// A tag is a DNS label.
constexpr std::size_t kRouteNameMax = 63;

std::size_t method_index(std::string_view method) {
  // Compared with a constant, the usual ones take an instruction or two.
  if (method == "GET") return 0;
  if (method == "POST") return 2;
  for (std::size_t i = 0; i + 1 < kMethodNames.size(); ++i) {
    if (method == kMethodNames[i]) return i;
  }
  return kMethodNames.size() - 1;
}

std::size_t protocol_index(const http::RequestHead& head, bool secure) {
  const std::size_t version = head.version_major >= 2 ? 2 : head.version_minor == 0 ? 0 : 1;
  return version * 2 + (secure ? 1 : 0);
}

std::int64_t at_least_zero(Duration duration) {
  return std::max<std::int64_t>(0, duration.count());
}

bool seen(const HistogramView& histogram) {
  return std::any_of(histogram.counts.begin(), histogram.counts.end(),
                     [](std::uint64_t count) { return count > 0; });
}

// Of a series that takes what lies beyond the bounds.
Labels overflow() {
  return {{"otel_metric_overflow", "true"}};
}

constexpr std::array<Cause, 2> kSheds{Cause::queue_full, Cause::queue_wait};

}  // namespace

struct RequestMetrics::ClientSeries {
  Labels labels;
  Histogram<14> duration;
  Histogram<20> request_size;
};

struct RequestMetrics::Series {
  Labels labels;
  Histogram<14> duration;
  Histogram<20> request_size;
  Histogram<20> response_size;
  ClientSeries* client = nullptr;  // one of clients_; set by the first request that is forwarded
};

struct RequestMetrics::Route {
  std::string name;
  std::array<std::uint8_t, kMethods * kProtocols * kSlots> places{};  // in series_; 0 = none yet
};

RequestMetrics::RequestMetrics(MetricsIdentity identity)
    : identity_{std::move(identity)}, responses_(kCauses) {
  static_assert(kSeriesMax < 256, "places are bytes");
  static_assert(kMethodNames.size() == kMethods && kVersions.size() * 2 == kProtocols);
  for (const char* name : {"kn:disabled", "kn:other"}) {
    routes_.push_back(std::make_unique<Route>());
    routes_.back()->name = name;
  }
  series_.push_back(std::make_unique<Series>());
  series_.back()->labels = overflow();
  clients_.push_back(std::make_unique<ClientSeries>());
  clients_.back()->labels = overflow();
  series_.back()->client = clients_.back().get();
}

RequestMetrics::~RequestMetrics() = default;

void RequestMetrics::enter(std::string_view method, bool secure) {
  Active& active = active_[method_index(method)][secure ? 1 : 0];
  ++active.now;
  active.seen = true;
}

void RequestMetrics::leave(const RequestRecord& record) {
  const Kind kind{method_index(record.head.method), protocol_index(record.head, record.secure),
                  slot_of(record.status)};
  --active_[kind.method][record.secure ? 1 : 0].now;
  ++responses_[static_cast<std::size_t>(record.cause)][kind.slot];

  Series& series = series_of(route_of(record.route), kind);
  const std::int64_t latency = at_least_zero(record.latency);
  const auto request_bytes = static_cast<std::int64_t>(record.request_bytes);
  const auto response_bytes = static_cast<std::int64_t>(record.response_bytes);
  const std::size_t request_bucket = kBytes.find(request_bytes);
  series.duration.observe(kSeconds.find(latency), latency);
  series.request_size.observe(request_bucket, request_bytes);
  series.response_size.observe(kBytes.find(response_bytes), response_bytes);
  if (record.app) {
    if (series.client == nullptr) series.client = &client_of(kind);
    const std::int64_t app = at_least_zero(*record.app);
    const std::size_t bucket = kSeconds.find(app);
    app_[kind.slot].observe(bucket, app);
    series.client->duration.observe(bucket, app);
    series.client->request_size.observe(request_bucket, request_bytes);
  }
  if (record.bounded && record.cause != Cause::queue_full) {
    const std::int64_t queued = at_least_zero(record.queued);
    queue_wait_.observe(kSeconds.find(queued), queued);
  }
}

std::size_t RequestMetrics::slot_of(int status) {
  if (status < 100 || status >= static_cast<int>(slots_.size())) return 0;
  std::uint8_t& slot = slots_[static_cast<std::size_t>(status)];
  if (slot == 0 && statuses_seen_ < kStatusesMax) {
    slot = static_cast<std::uint8_t>(++statuses_seen_);
    statuses_[slot] = static_cast<std::uint16_t>(status);
  }
  return slot;
}

RequestMetrics::Route& RequestMetrics::route_of(std::string_view name) {
  if (name == kNoRoute) return *routes_[kPlainRoute];
  for (const auto& route : routes_) {
    if (route->name == name) return *route;
  }
  if (routes_.size() >= kRoutesMax || name.size() > kRouteNameMax) return *routes_[kOtherRoute];
  routes_.push_back(std::make_unique<Route>());
  routes_.back()->name = name;
  return *routes_.back();
}

RequestMetrics::Series& RequestMetrics::series_of(Route& route, const Kind& kind) {
  std::uint8_t& place =
      route.places[(kind.method * kProtocols + kind.protocol) * kSlots + kind.slot];
  if (place != 0 || kind.slot == 0 || series_.size() > kSeriesMax) return *series_[place];
  place = static_cast<std::uint8_t>(series_.size());
  series_.push_back(std::make_unique<Series>());
  const std::string status = status_text(kind.slot);
  series_.back()->labels = {{"http_request_method", kMethodNames[kind.method]},
                            {"http_response_status_code", status},
                            {"kn_route_tag", route.name},
                            {"network_protocol_name", "http"},
                            {"network_protocol_version", kVersions[kind.protocol / 2]},
                            {"url_scheme", kind.protocol % 2 == 0 ? "http" : "https"}};
  return *series_.back();
}

// Requests reach the container in the client's version of HTTP and never over TLS.
RequestMetrics::ClientSeries& RequestMetrics::client_of(const Kind& kind) {
  const std::size_t version = kind.protocol / 2;
  std::uint8_t& place = client_places_[(kind.method * kProtocols + version) * kSlots + kind.slot];
  if (place != 0 || kind.slot == 0 || clients_.size() > kSeriesMax) return *clients_[place];
  place = static_cast<std::uint8_t>(clients_.size());
  clients_.push_back(std::make_unique<ClientSeries>());
  const std::string status = status_text(kind.slot);
  clients_.back()->labels = {{"http_request_method", kMethodNames[kind.method]},
                             {"http_response_status_code", status},
                             {"network_protocol_name", "http"},
                             {"network_protocol_version", kVersions[version]},
                             {"server_address", "127.0.0.1"},
                             {"server_port", identity_.user_port},
                             {"url_scheme", "http"}};
  return *clients_.back();
}

std::string RequestMetrics::status_text(std::size_t slot) const {
  return slot == 0 ? std::string{"_OTHER"} : std::to_string(statuses_[slot]);
}

void RequestMetrics::write(Families& families, const std::optional<QueueLoad>& queue) const {
  write_identity(families);
  write_app(families);
  if (queue) {
    families.gauge("kn_serving_queue_depth", "Requests in the container or waiting for a slot.",
                   queue->running + queue->waiting);
  }
  write_server(families);
  write_client(families);
  write_own(families, queue);
}

void RequestMetrics::write_own(Families& families, const std::optional<QueueLoad>& queue) const {
  write_build(families);
  write_queue(families, queue);
  write_responses(families);
}

void RequestMetrics::write_identity(Families& families) const {
  families.family("target_info", MetricType::gauge, "Target metadata");
  families.value({{"k8s_container_name", "queue-proxy"},
                  {"k8s_namespace_name", identity_.space},
                  {"k8s_pod_name", identity_.pod},
                  {"kn_configuration_name", identity_.configuration},
                  {"kn_revision_name", identity_.revision},
                  {"kn_service_name", identity_.service},
                  {"service_instance_id", identity_.pod},
                  {"service_name", identity_.service_name},
                  {"service_version", identity_.version}},
                 1);
}

void RequestMetrics::write_build(Families& families) const {
  families.family("sluice_build_info", MetricType::gauge,
                  "Version of this program and the revision it serves.");
  families.value({{"version", identity_.version}, {"revision", identity_.revision}}, 1);
}

void RequestMetrics::write_app(Families& families) const {
  families.family("kn_serving_invocation_duration_seconds", MetricType::histogram,
                  "Time from forwarding a request to the end of the container's response.");
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const HistogramView view = app_[slot].view(kSeconds);
    if (!seen(view)) continue;
    families.histogram(
        slot == 0 ? overflow() : Labels{{"http_response_status_code", status_text(slot)}}, view);
  }
}

void RequestMetrics::write_queue(Families& families, const std::optional<QueueLoad>& queue) const {
  if (!queue) return;
  families.gauge("sluice_queue_waiting", "Requests waiting for a slot.", queue->waiting);
  families.gauge("sluice_queue_capacity", "Requests the container handles at once.",
                 queue->capacity);
  families.family("sluice_request_queue_wait_seconds", MetricType::histogram,
                  "Time requests waited for a slot, without those refused at once.");
  families.histogram({}, queue_wait_.view(kSeconds));
  families.family("sluice_shed_total", MetricType::counter,
                  "Requests refused because no slot was free.");
  for (const Cause cause : kSheds) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : responses_[static_cast<std::size_t>(cause)]) sum += count;
    families.value({{"reason", name_of(cause)}}, sum);
  }
}

void RequestMetrics::write_server(Families& families) const {
  families.family("http_server_active_requests", MetricType::gauge, "Requests in progress.");
  for (std::size_t method = 0; method < kMethods; ++method) {
    for (const std::size_t secure : {0U, 1U}) {
      const Active& active = active_[method][secure];
      if (!active.seen) continue;
      families.value({{"http_request_method", kMethodNames[method]},
                      {"url_scheme", secure == 0 ? "http" : "https"}},
                     static_cast<double>(active.now));
    }
  }
  // The first series is written only once something did not fit the others.
  const auto begin =
      seen(series_[0]->duration.view(kSeconds)) ? series_.begin() : std::next(series_.begin());
  families.family("http_server_request_duration_seconds", MetricType::histogram,
                  "Duration of HTTP server requests, including the wait for a slot.");
  for (auto it = begin; it != series_.end(); ++it) {
    families.histogram((*it)->labels, (*it)->duration.view(kSeconds));
  }
  families.family("http_server_request_body_size_bytes", MetricType::histogram,
                  "Size of HTTP server request bodies.");
  for (auto it = begin; it != series_.end(); ++it) {
    families.histogram((*it)->labels, (*it)->request_size.view(kBytes));
  }
  families.family("http_server_response_body_size_bytes", MetricType::histogram,
                  "Size of HTTP server response bodies.");
  for (auto it = begin; it != series_.end(); ++it) {
    families.histogram((*it)->labels, (*it)->response_size.view(kBytes));
  }
}

void RequestMetrics::write_client(Families& families) const {
  const auto begin =
      seen(clients_[0]->duration.view(kSeconds)) ? clients_.begin() : std::next(clients_.begin());
  families.family("http_client_request_duration_seconds", MetricType::histogram,
                  "Duration of requests to the container.");
  for (auto it = begin; it != clients_.end(); ++it) {
    families.histogram((*it)->labels, (*it)->duration.view(kSeconds));
  }
  families.family("http_client_request_body_size_bytes", MetricType::histogram,
                  "Size of request bodies sent to the container.");
  for (auto it = begin; it != clients_.end(); ++it) {
    families.histogram((*it)->labels, (*it)->request_size.view(kBytes));
  }
}

void RequestMetrics::write_responses(Families& families) const {
  families.family("sluice_responses_total", MetricType::counter,
                  "Completed requests by status, source of the response and cause.");
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    for (std::size_t slot = 0; slot < kSlots; ++slot) {
      if (responses_[i][slot] == 0) continue;
      const std::string status = status_text(slot);
      families.value({{"http_response_status_code", status},
                      {"source", source_of(cause)},
                      {"cause", name_of(cause)}},
                     responses_[i][slot]);
    }
  }
}

}  // namespace sluice::queue_proxy
