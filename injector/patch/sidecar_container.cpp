#include "injector/patch/sidecar_container.h"

#include "common/json/write.h"
#include "common/values/whole_number.h"

#include "injector/patch/names.h"
#include <algorithm>

namespace sluice::injector {
namespace {

constexpr long kImageUser = 65'532;
constexpr long kUsualQuiet = 30;

Json variable(std::string_view name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

Json variable_of_pod(std::string_view name, std::string_view path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

std::string port_address(const SidecarPort& port) {
  return ":" + std::to_string(port.number);
}

// A third of the grace period is spent on waiting for silence at most: the rest is for requests.
std::string quiet_time(const PodFacts& facts) {
  return std::to_string(std::clamp(facts.grace_seconds / 3, 1L, kUsualQuiet)) + "s";
}

// One rule a line. Kubernetes reads `$$` in a value as `$`, and `$(` as the beginning of a
// variable.
std::string lines_of(const std::vector<std::string>& rules) {
  std::string text;
  for (const std::string& rule : rules) {
    if (!text.empty()) text += '\n';
    for (const char c : rule) text.append(c == '$' ? 2 : 1, c);
  }
  return text;
}

Json environment(const PodFacts& facts, const PodOwner& owner, const ReadinessCopy& readiness) {
  const std::string name = owner.scaler ? owner.scaler->name : owner.name;
  Json list = Json::array();
  const auto add = [&](std::string_view key, const std::string& value) {
    list.push_back(variable(key, value));
  };
  list.push_back(variable_of_pod("SERVING_NAMESPACE", "metadata.namespace"));
  list.push_back(variable_of_pod("SERVING_POD", "metadata.name"));
  list.push_back(variable_of_pod("SERVING_POD_IP", "status.podIP"));
  // The app's preStop, which kubelet sends from the node, may start a drain.
  list.push_back(variable_of_pod("SLUICE_NODE_ADDRESS", "status.hostIP"));
  add("SERVING_SERVICE", owner.scaler ? owner.scaler->service : name);
  add("SERVING_CONFIGURATION", name);
  add("SERVING_REVISION", name);
  add("QUEUE_SERVING_PORT", std::to_string(facts.serving.number));
  add("QUEUE_SERVING_TLS_PORT", "");
  add("USER_PORT", std::to_string(facts.app_port));
  add("SLUICE_ADMIN_ADDRESS", port_address(facts.admin));
  add("SLUICE_STATS_ADDRESS", port_address(facts.stats));
  add("SLUICE_METRICS_ADDRESS", port_address(facts.metrics));
  // As good as absent. Kubelet would set it to tcp://... for a Service metrics-prometheus; of the
  // names that queue-proxy reads no other can be a Service's and is not set above.
  add("METRICS_PROMETHEUS_PORT", "");
  add("CONTAINER_CONCURRENCY", std::to_string(facts.concurrency));
  add("REVISION_TIMEOUT_SECONDS", std::to_string(facts.timeout_seconds));
  add("REVISION_RESPONSE_START_TIMEOUT_SECONDS",
      std::to_string(facts.response_start_timeout_seconds));
  add("REVISION_IDLE_TIMEOUT_SECONDS", std::to_string(facts.idle_timeout_seconds));
  add("SERVING_READINESS_PROBE", readiness.variable);
  const auto unless_set = [&](const char* key, const std::string& value) {
    if (!facts.variables.contains(key)) add(key, value);
  };
  unless_set("SERVING_LOGGING_CONFIG", "");
  unless_set("SERVING_LOGGING_LEVEL", "");
  unless_set("SLUICE_DRAIN_QUIET", quiet_time(facts));
  // No ingress of Knative's stands before these pods: clients reach them by their Service.
  unless_set("SLUICE_ORIGINAL_HOST", "activator");
  if (owner.scaler && !owner.scaler->ignore_paths.empty()) {
    unless_set("SLUICE_IGNORE_PATHS", lines_of(owner.scaler->ignore_paths));
  }
  if (owner.scaler && !owner.scaler->ignore_user_agents.empty()) {
    unless_set("SLUICE_IGNORE_USER_AGENTS", lines_of(owner.scaler->ignore_user_agents));
  }
  for (const auto& [key, value] : facts.variables) add(key, value);
  return list;
}

// The image's user is no root; it is set only for a pod that makes root the user of all containers.
Json security(const Json& pod) {
  Json context{{"allowPrivilegeEscalation", false},
               {"readOnlyRootFilesystem", true},
               {"runAsNonRoot", true},
               {"capabilities", {{"drop", Json::array({"ALL"})}}},
               {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  if (whole(member(member(pod, "spec"), "securityContext"), "runAsUser") == 0) {
    context["runAsUser"] = kImageUser;
    context["runAsGroup"] = kImageUser;
  }
  return context;
}

Json resources(const kube::SidecarResources& from) {
  Json result = Json::object();
  const auto put = [&](const char* list, const char* of, const std::string& quantity) {
    if (!quantity.empty()) result[list][of] = quantity;
  };
  put("requests", "cpu", from.cpu_request);
  put("requests", "memory", from.memory_request);
  put("limits", "cpu", from.cpu_limit);
  put("limits", "memory", from.memory_limit);
  return result;
}

// The port of a probe as a number: its own, a port of the container by name, or the app's.
long probe_port(const Json& action, const PodFacts& facts) {
  if (const auto number = whole(action, "port")) return *number;
  const std::string name = text(action, "port");
  if (const auto number = whole_number<long>(name, 1, 65'535)) return *number;
  const Json* found = named(array(*facts.app, "ports"), name);
  return found == nullptr ? facts.app_port
                          : whole(*found, "containerPort").value_or(facts.app_port);
}

Json tcp_probe(long port) {
  return {{"tcpSocket", {{"host", "127.0.0.1"}, {"port", port}}}, {"successThreshold", 1}};
}

Json http_probe(const Json& action, const PodFacts& facts) {
  const std::string scheme = text(action, "scheme");
  Json copy{{"host", "127.0.0.1"},
            {"path", text(action, "path")},
            {"port", probe_port(action, facts)},
            {"scheme", scheme.empty() ? "HTTP" : scheme}};
  const Json& headers = array(action, "httpHeaders");
  if (!headers.empty()) copy["httpHeaders"] = headers;
  return {{"httpGet", copy}};
}

Json grpc_probe(const Json& action, const PodFacts& facts) {
  return {{"grpc", {{"port", probe_port(action, facts)}, {"service", text(action, "service")}}}};
}

}  // namespace

// A TCP probe is eager: the sidecar sees within milliseconds that the app listens. HTTP and gRPC
// probes are single attempts with the app's own time limit, since an eager attempt gives an answer
// 100 ms, and an app whose health page takes longer was ready before and has to stay so.
ReadinessCopy readiness_copy(const PodFacts& facts) {
  const Json& probe = member(*facts.app, "readinessProbe");
  const long limit = std::max(1L, whole(probe, "timeoutSeconds").value_or(1));
  Json copy;
  if (member(probe, "httpGet").is_object()) {
    copy = http_probe(member(probe, "httpGet"), facts);
  } else if (member(probe, "grpc").is_object()) {
    copy = grpc_probe(member(probe, "grpc"), facts);
  } else {
    const Json& action = member(probe, "tcpSocket");
    copy = tcp_probe(action.is_object() ? probe_port(action, facts) : facts.app_port);
  }
  const bool eager = copy.contains("tcpSocket");
  if (!eager) {
    copy["periodSeconds"] = 1;
    copy["timeoutSeconds"] = limit;
    copy["successThreshold"] = 1;
  }
  const bool own = probe.is_object() && !probe.empty();
  Json kubelet{
      {"httpGet",
       {{"path", "/"},
        {"port", facts.serving.number},
        {"scheme", "HTTP"},
        {"httpHeaders", Json::array({{{"name", "K-Network-Probe"}, {"value", "queue"}}})}}}};
  // An eager run lasts up to ten seconds and answers as soon as it succeeds.
  kubelet["timeoutSeconds"] = eager ? 10 : limit + 1;
  kubelet["periodSeconds"] = own ? whole(probe, "periodSeconds").value_or(10) : 1;
  kubelet["successThreshold"] = own ? whole(probe, "successThreshold").value_or(1) : 1;
  kubelet["failureThreshold"] = own ? whole(probe, "failureThreshold").value_or(3) : 3;
  return {json_line(copy), std::move(kubelet)};
}

Json sidecar_container(const Json& pod, const PodFacts& facts, const PodOwner& owner,
                       const InjectionSettings& settings) {
  ReadinessCopy readiness = readiness_copy(facts);
  Json container{{"name", kContainer}, {"image", settings.image}};
  if (!settings.pull_policy.empty()) container["imagePullPolicy"] = settings.pull_policy;
  if (settings.native) container["restartPolicy"] = "Always";
  Json ports = Json::array();
  for (const SidecarPort* port : facts.ports()) {
    ports.push_back({{"name", port->name}, {"containerPort", port->number}, {"protocol", "TCP"}});
  }
  container["ports"] = std::move(ports);
  container["env"] = environment(facts, owner, readiness);
  Json quantities = resources(settings.resources);
  // What the pod asks for as a whole may leave no room for requests of ours, and API servers refuse
  // a pod whose containers ask for more.
  const bool of_pod = member(member(pod, "spec"), "resources").is_object();
  if (!of_pod && !quantities.empty()) container["resources"] = std::move(quantities);
  container["readinessProbe"] = std::move(readiness.kubelet);
  // Kubelet ends a native sidecar after the app; only this tells it in time that the pod goes. An
  // ordinary one gets SIGTERM together with the app's preStop.
  if (settings.native) {
    container["lifecycle"] = {
        {"preStop", {{"exec", {{"command", Json::array({"/queue-proxy", "--drain"})}}}}}};
  }
  container["securityContext"] = security(pod);
  return container;
}

}  // namespace sluice::injector
