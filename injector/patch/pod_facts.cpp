#include "injector/patch/pod_facts.h"

#include "common/kube/labels.h"
#include "common/values/whole_number.h"

#include "injector/patch/names.h"
#include <algorithm>
#include <array>

namespace sluice::injector {
namespace {

constexpr long kPortMost = 65'535;
constexpr long kDayLong = 86'400;
// Of requests at once: as much as the schema of RequestScaler lets through.
constexpr long kConcurrencyMost = 1000;
constexpr std::size_t kItemsMax = 1024;  // containers, ports: far above what an API server takes

constexpr long kUsualGrace = 30;  // the API's default, filled in before any webhook is asked
constexpr long kMostGrace = 300;  // Knative's, and enough for whatever its default timeout lets run

std::string ticked(std::string_view name) {
  return "`" + std::string{name} + "`";
}

Problem form(const std::string& where, const std::string& wanted) {
  return {where + " is not " + wanted, "use the form of the Kubernetes API"};
}

bool is_map(const Json& value) {
  return value.is_null() || value.is_object();
}

bool is_texts(const Json& value) {
  return value.is_null() ||
         (value.is_object() &&
          std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); }));
}

std::optional<Problem> wrong_containers(const Json& list, const std::string& where) {
  if (!list.is_array() || list.size() > kItemsMax) return form(where, "a list");
  for (const Json& container : list) {
    if (!container.is_object() || text(container, "name").empty()) {
      return form("an item of " + where, "a container with a name");
    }
    const std::string here = "container " + ticked(text(container, "name"));
    const Json& ports = member(container, "ports");
    if (!ports.is_null() && (!ports.is_array() || ports.size() > kItemsMax)) {
      return form("`ports` of " + here, "a list");
    }
    if (!is_map(member(container, "lifecycle"))) return form("`lifecycle` of " + here, "a mapping");
    if (!is_map(member(container, "readinessProbe"))) {
      return form("`readinessProbe` of " + here, "a mapping");
    }
  }
  return std::nullopt;
}

bool is_tcp(const Json& port) {
  const std::string protocol = text(port, "protocol");
  return protocol.empty() || protocol == "TCP";
}

// The number of the first port that may carry requests; 0: none.
long first_port(const Json& container) {
  for (const Json& port : array(container, "ports")) {
    const long number = whole(port, "containerPort").value_or(0);
    if (is_tcp(port) && number >= 1 && number <= kPortMost) return number;
  }
  return 0;
}

const Json* owner_of_port(const Json& containers, long number) {
  for (const Json& container : containers) {
    for (const Json& port : array(container, "ports")) {
      if (is_tcp(port) && whole(port, "containerPort") == number) return &container;
    }
  }
  return nullptr;
}

// The container that kubectl takes for the main one; null: none is named.
const Json* chosen_container(const Json& pod, const Json& containers) {
  const Json& annotations = member(member(pod, "metadata"), "annotations");
  return named(containers, text(annotations, "kubectl.kubernetes.io/default-container"));
}

// That one if it has a port, else the first that has.
const Json* main_container(const Json& pod, const Json& containers) {
  const Json* chosen = chosen_container(pod, containers);
  if (chosen != nullptr && first_port(*chosen) != 0) return chosen;
  for (const Json& container : containers) {
    if (first_port(container) != 0) return &container;
  }
  return nullptr;
}

class FactReader {
 public:
  explicit FactReader(const Json& pod)
      : pod_{pod},
        annotations_{member(member(pod, "metadata"), "annotations")},
        containers_{array(member(pod, "spec"), "containers")} {}

  Result<PodFacts, Problem> read(const PodOwner& owner) {
    facts_.serving = {std::string{kube::kQueuePort}, port(kServingPort, 8012)};
    facts_.admin = {"queue-admin", port(kAdminPort, 8022)};
    facts_.stats = {"queue-stats", 9090};
    facts_.metrics = {"queue-metrics", port(kMetricsPort, 9091)};
    read_app();
    read_limits(owner);
    read_config();
    read_grace();
    check_ports();
    if (problem_) return *problem_;
    return facts_;
  }

 private:
  void refuse(Problem problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  long number(std::string_view key, long usual, long least, long most) {
    const Json& value = member(annotations_, key);
    if (value.is_null()) return usual;
    const auto read = whole_number<long>(text(annotations_, key), least, most);
    if (!read) {
      refuse({"annotation " + std::string{key} + " is " + ticked(text(annotations_, key)),
              "give a whole number from " + std::to_string(least) + " to " + std::to_string(most)});
    }
    return read.value_or(usual);
  }

  long port(std::string_view key, long usual) { return number(key, usual, 1, kPortMost); }

  void read_app() {
    const std::string wanted = text(annotations_, kPort);
    if (wanted.empty()) {
      facts_.app = main_container(pod_, containers_);
      if (facts_.app == nullptr) {
        return refuse({"no container has a port, so there is nothing to send requests to",
                       "name the app's port in `ports` of its container or in the annotation " +
                           std::string{kPort} + ", or opt out with the label " +
                           std::string{kInjectLabel} + ": \"false\""});
      }
      facts_.app_port = first_port(*facts_.app);
      return;
    }
    if (const auto number = whole_number<long>(wanted, 1, kPortMost)) {
      facts_.app_port = *number;
      facts_.app = owner_of_port(containers_, *number);
      if (facts_.app == nullptr) facts_.app = chosen_container(pod_, containers_);
      if (facts_.app == nullptr) facts_.app = &containers_.front();
      return;
    }
    for (const Json& container : containers_) {
      const Json* found = named(array(container, "ports"), wanted);
      if (found == nullptr || !is_tcp(*found)) continue;
      facts_.app = &container;
      facts_.app_port = whole(*found, "containerPort").value_or(0);
    }
    if (facts_.app_port < 1 || facts_.app_port > kPortMost) {
      refuse({"annotation " + std::string{kPort} + " is " + ticked(wanted) +
                  ", which is not a TCP port of a container",
              "give a port's number, or its name in `ports`"});
    }
  }

  void read_limits(const PodOwner& owner) {
    if (owner.scaler) {
      facts_.concurrency = owner.scaler->container_concurrency;
      facts_.timeout_seconds = owner.scaler->timeout_seconds;
      facts_.response_start_timeout_seconds = owner.scaler->response_start_timeout_seconds;
      facts_.idle_timeout_seconds = owner.scaler->idle_timeout_seconds;
      return;
    }
    facts_.concurrency = number(kConcurrency, 0, 0, kConcurrencyMost);
    facts_.timeout_seconds = number(kTimeout, 300, 1, kDayLong);
  }

  void read_config() {
    const std::string json = text(annotations_, kConfig);
    if (json.empty()) return;
    auto variables = read_variables(json);
    if (!variables) return refuse(variables.error());
    facts_.variables = std::move(*variables);
  }

  // Draining takes the quiet time and then as long as the requests in flight. 30 seconds, the API's
  // default, would cut them, and a webhook cannot tell the default from a person's own 30; any
  // other number is certainly a person's and stays.
  void read_grace() {
    const long own =
        whole(member(pod_, "spec"), "terminationGracePeriodSeconds").value_or(kUsualGrace);
    facts_.grace_seconds =
        own == kUsualGrace ? std::clamp(facts_.timeout_seconds, kUsualGrace, kMostGrace) : own;
  }

  void check_ports() {
    const Json& others = array(member(pod_, "spec"), "initContainers");
    const auto moved_by = [&](const SidecarPort* port) -> std::string_view {
      if (port == &facts_.serving) return kServingPort;
      if (port == &facts_.admin) return kAdminPort;
      return port == &facts_.metrics ? kMetricsPort : std::string_view{};
    };
    std::vector<long> taken;
    for (const SidecarPort* port : facts_.ports()) {
      const Json* holder = owner_of_port(containers_, port->number);
      if (holder == nullptr) holder = owner_of_port(others, port->number);
      const bool twice = std::find(taken.begin(), taken.end(), port->number) != taken.end();
      taken.push_back(port->number);
      if (holder == nullptr && port->number != facts_.app_port && !twice) continue;
      const std::string_view key = moved_by(port);
      const std::string who = holder != nullptr ? "container " + ticked(text(*holder, "name"))
                              : twice           ? "another port of the sidecar"
                                                : "the app";
      refuse(
          {"port " + std::to_string(port->number) + ", the sidecar's " + port->name +
               ", is taken by " + who,
           key.empty()
               ? "use another port there: the autoscaler reads the sidecar's statistics at this one"
               : "move the sidecar's port with the annotation " + std::string{key} +
                     " on the pod template, such as \"" +
                     std::to_string(10'000 + (port->number % 10'000)) + "\""});
    }
  }

  const Json& pod_;
  const Json& annotations_;
  const Json& containers_;
  PodFacts facts_;
  std::optional<Problem> problem_;
};

// What sluice.dev/config may set. Everything else of the sidecar comes from the pod, the scaler or
// the annotation named beside it.
constexpr std::array kFree{"SERVING_LOGGING_CONFIG",
                           "SERVING_LOGGING_LEVEL",
                           "OBSERVABILITY_CONFIG",
                           "OTEL_SERVICE_NAME",
                           "SLUICE_QUEUE_DEPTH",
                           "SLUICE_QUEUE_WAIT",
                           "SLUICE_DRAIN_QUIET",
                           "SLUICE_MAX_HEADER_BYTES",
                           "SLUICE_MAX_HEADERS",
                           "SLUICE_HEADER_TIMEOUT",
                           "SLUICE_BODY_TIMEOUT",
                           "SLUICE_WRITE_TIMEOUT",
                           "SLUICE_HEADER_MEMORY",
                           "SLUICE_MAX_CONNECTIONS",
                           "SLUICE_MAX_STREAMS",
                           "SLUICE_MAX_CONTROL_FRAMES",
                           "SLUICE_UPGRADE_BODY_MAX",
                           "SLUICE_ORIGINAL_HOST",
                           "ENABLE_HTTP2_AUTO_DETECTION",
                           "ENABLE_HTTP_FULL_DUPLEX",
                           "METRICS_PROMETHEUS_HOST",
                           "QUEUE_PROXY_TLS_MIN_VERSION",
                           "QUEUE_PROXY_TLS_MAX_VERSION",
                           "QUEUE_PROXY_TLS_CIPHER_SUITES",
                           "QUEUE_PROXY_TLS_CURVE_PREFERENCES"};

struct Reserved {
  std::string_view name;
  std::string_view instead;
};

constexpr std::array kReserved{
    Reserved{"USER_PORT", "use the annotation sluice.dev/port"},
    Reserved{"QUEUE_SERVING_PORT", "use the annotation sluice.dev/serving-port"},
    Reserved{"SLUICE_ADMIN_ADDRESS", "use the annotation sluice.dev/admin-port"},
    Reserved{"SLUICE_METRICS_ADDRESS", "use the annotation sluice.dev/metrics-port"},
    Reserved{"METRICS_PROMETHEUS_PORT", "use the annotation sluice.dev/metrics-port"},
    Reserved{"CONTAINER_CONCURRENCY",
             "use containerConcurrency of the RequestScaler, or the annotation "
             "sluice.dev/concurrency"},
    Reserved{"REVISION_TIMEOUT_SECONDS",
             "use timeoutSeconds of the RequestScaler, or the annotation "
             "sluice.dev/timeout-seconds"},
    Reserved{"REVISION_RESPONSE_START_TIMEOUT_SECONDS",
             "use responseStartTimeoutSeconds of the RequestScaler"},
    Reserved{"REVISION_IDLE_TIMEOUT_SECONDS", "use idleTimeoutSeconds of the RequestScaler"},
    Reserved{"SERVING_READINESS_PROBE", "give the app's container a readinessProbe"}};

constexpr std::size_t kConfigBytesMax = 16 * 1024;

Problem bad_config(const std::string& what, const std::string& fix) {
  return {"annotation " + std::string{kConfig} + ": " + what, fix};
}

}  // namespace

std::optional<Problem> wrong_form(const Json& pod) {
  const Json& metadata = member(pod, "metadata");
  const Json& spec = member(pod, "spec");
  if (!pod.is_object() || !spec.is_object()) return form("the pod's `spec`", "a mapping");
  if (!is_map(metadata)) return form("the pod's `metadata`", "a mapping");
  for (const char* key : {"labels", "annotations"}) {
    if (!is_texts(member(metadata, key))) {
      return form(std::string{"`metadata."} + key + "`", "a mapping of strings");
    }
  }
  if (member(spec, "containers").empty()) return form("`spec.containers`", "a list of containers");
  if (auto wrong = wrong_containers(member(spec, "containers"), "`spec.containers`")) return wrong;
  const Json& init = member(spec, "initContainers");
  return init.is_null() ? std::nullopt : wrong_containers(init, "`spec.initContainers`");
}

Result<PodFacts, Problem> read_facts(const Json& pod, const PodOwner& owner) {
  return FactReader{pod}.read(owner);
}

Result<std::map<std::string, std::string>, Problem> read_variables(const std::string& json) {
  const auto document = json.size() <= kConfigBytesMax ? parse_json(json) : std::nullopt;
  if (!document || !document->is_object()) {
    return bad_config("this is not a JSON object of at most 16 KiB",
                      R"(write it as {"SLUICE_QUEUE_DEPTH":"100"})");
  }
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : document->items()) {
    for (const Reserved& reserved : kReserved) {
      if (name == reserved.name) {
        return bad_config(name + " cannot be set here", std::string{reserved.instead});
      }
    }
    if (std::find(kFree.begin(), kFree.end(), name) == kFree.end()) {
      return bad_config(name.substr(0, 80) + " is not a variable that may be set here",
                        "see the table in programs/queue-proxy/README.md");
    }
    if (!value.is_string() && !value.is_number() && !value.is_boolean()) {
      return bad_config("the value of " + name + " is not a string", "put it in quotes");
    }
    variables[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return variables;
}

}  // namespace sluice::injector
