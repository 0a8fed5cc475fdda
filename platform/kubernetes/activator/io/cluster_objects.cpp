#include "platform/kubernetes/activator/io/cluster_objects.h"

#include "common/ignore/rules.h"
#include "common/kube/labels.h"

#include "platform/kubernetes/activator/core/door_table.h"
#include <algorithm>
#include <string>
#include <utility>

namespace sluice::activator {

namespace {

constexpr std::int32_t kTimeoutSecondsLeast = 1;

std::string label(const kube::StringMap& labels, std::string_view key) {
  const auto found = labels.find(key);
  return found == labels.end() ? std::string{} : found->second;
}

// One rule a line: neither a path nor an expression holds a line break.
void add_rules(Labels& annotations, std::string_view key, const std::vector<std::string>& rules) {
  if (rules.empty()) return;
  std::string text;
  for (const std::string& rule : rules) {
    if (!text.empty()) text += '\n';
    text += rule;
  }
  annotations.insert_or_assign(std::string{key}, std::move(text));
}

// A label holds 63 characters, a name may have more.
std::string scaler_of(const kube::Service& service) {
  return service.owner.kind == "RequestScaler" ? service.owner.name
                                               : label(service.labels, kube::kScalerLabel);
}

Duration seconds(std::int32_t whole) {
  return std::chrono::seconds{std::clamp(whole, 0, kTimeoutSecondsMost)};
}

}  // namespace

// The schema has let the values through; what is clamped was written past it.
ServingSpec spec_of(const kube::ObjectName& name, const kube::RequestScaler& scaler) {
  ServingSpec spec;
  spec.service = scaler.service.name.empty() ? name.name : scaler.service.name;
  spec.h2c = scaler.protocol == "h2c";
  spec.container_concurrency = std::clamp(scaler.container_concurrency, 0, kConcurrencyMost);
  spec.timeout = seconds(std::max(scaler.timeout_seconds, kTimeoutSecondsLeast));
  spec.response_start_timeout = seconds(scaler.response_start_timeout_seconds);
  spec.idle_timeout = seconds(scaler.idle_timeout_seconds);
  spec.annotations = scaler.scaling;
  add_rules(spec.annotations, ignore::kPathsKey, scaler.ignore_paths);
  add_rules(spec.annotations, ignore::kAgentsKey, scaler.ignore_user_agents);
  if (kube::is_activator_port(scaler.status.activator_port)) {
    spec.port = static_cast<std::uint16_t>(scaler.status.activator_port);
  }
  return spec;
}

// A pod that has ended may keep its address for a while, but does not answer.
ClusterPod pod_of(kube::Pod pod) {
  const bool ended = pod.phase == "Succeeded" || pod.phase == "Failed";
  return {.labels = std::move(pod.labels),
          .ip = std::move(pod.ip),
          .port = pod.serving_port,
          .ready = pod.ready && !ended,
          .terminating = pod.terminating || ended,
          .fast_ready = pod.fast_ready};
}

std::optional<PrivateService> private_service_of(const kube::ObjectName& name,
                                                 const kube::Service& service) {
  PrivateService kept;
  kept.revision = {name.space, scaler_of(service)};
  if (kept.revision.name.empty()) kept.revision.name = label(service.labels, kube::kRevisionLabel);
  const bool headless = service.cluster_ip.empty() || service.cluster_ip == "None";
  if (kept.revision.name.empty() || headless) return std::nullopt;
  kept.ip = service.cluster_ip;
  for (const kube::Service::Port& port : service.ports) {
    const bool counts = port.name == "http" || port.name == "http2" || port.name == "https";
    if (counts) kept.ports.push_back({port.name, port.port});
  }
  return kept;
}

std::optional<PodSelection> selection_of(const kube::ObjectName& name,
                                         const kube::Service& service) {
  PodSelection selection;
  selection.revision = {name.space, scaler_of(service)};
  if (selection.revision.name.empty()) return std::nullopt;
  selection.selector = service.selector;
  return selection;
}

ClusterSlice slice_of(const kube::ObjectName& name, const kube::EndpointSlice& slice) {
  ClusterSlice kept;
  kept.revision = {name.space, label(slice.labels, kube::kScalerLabel)};
  if (kept.revision.name.empty()) kept.revision.name = label(slice.labels, kube::kRevisionLabel);
  for (const kube::EndpointSlice::Port& port : slice.ports) {
    kept.ports.push_back({port.name, port.port});
  }
  // FQDN slices name hosts, which this program does not resolve.
  if (slice.address_type == "FQDN") return kept;
  kept.endpoints.reserve(slice.endpoints.size());
  for (const kube::EndpointSlice::Endpoint& endpoint : slice.endpoints) {
    kept.endpoints.push_back(
        {endpoint.address, endpoint.target, endpoint.ready, endpoint.terminating});
  }
  return kept;
}

model::Revision file_of(ClusterRevision revision) {
  model::Revision file;
  file.id = std::move(revision.id);
  file.service = std::move(revision.spec.service);
  file.protocol = revision.spec.h2c ? model::AppProtocol::h2c : model::AppProtocol::http1;
  file.container_concurrency = revision.spec.container_concurrency;
  file.timeout = revision.spec.timeout;
  file.response_start_timeout = revision.spec.response_start_timeout;
  file.idle_timeout = revision.spec.idle_timeout;
  file.annotations = std::move(revision.spec.annotations);
  if (!revision.spec.configuration.empty()) {
    file.annotations.insert_or_assign("serving.knative.dev/configuration",
                                      std::move(revision.spec.configuration));
  }
  file.contract = revision.contract;
  file.activators = std::move(revision.activators);
  if (revision.service) {
    file.private_service = net::Address{
        .host = std::move(revision.service->ip), .port = revision.service->port, .path = {}};
    file.private_service_tls_port = revision.service->tls_port;
  }
  file.pods.reserve(revision.pods.size());
  for (ReachablePod& pod : revision.pods) {
    model::Pod entry;
    entry.id.name = std::move(pod.name);
    entry.address = net::Address{.host = std::move(pod.ip), .port = pod.port, .path = {}};
    entry.ready = pod.ready;
    entry.terminating = pod.terminating;
    entry.fast_ready = pod.fast_ready;
    file.pods.push_back(std::move(entry));
  }
  return file;
}

std::vector<net::Address> addresses_of(const std::vector<ClusterAddress>& addresses) {
  std::vector<net::Address> kept;
  kept.reserve(addresses.size());
  for (const ClusterAddress& one : addresses) {
    kept.push_back(net::Address{.host = one.ip, .port = one.port, .path = {}});
  }
  return kept;
}

}  // namespace sluice::activator
