#pragma once

#include "common/kube/object_name.h"
#include "common/model/selector.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The kinds of Kubernetes that we read, with the fields that we use. Each decode function reads one
// object as JSON; absent: it is no such object.
namespace sluice::kube {

using StringMap = std::map<std::string, std::string, std::less<>>;
using model::Selector;

struct OwnerReference {
  std::string kind;
  std::string name;
  std::string uid;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct Pod {
  /// A container, or init container, that is not ready and has ended or waits for a reason other
  /// than being created.
  struct Container {
    struct End {
      std::int32_t exit_code = 0;
      std::int32_t signal = 0;  ///< 0: none is known
      std::string reason{};     ///< "Error", "Completed", "OOMKilled", ...
      TimePoint began{};        ///< when the run started that ended so

      friend bool operator==(const End&, const End&) = default;
    };

    std::string name{};
    std::string image{};
    std::string waiting{};  ///< reason of state.waiting; empty: it does not wait
    bool running = false;
    std::int32_t restarts = 0;
    std::optional<End> end{};  ///< of the last run that is over

    friend bool operator==(const Container&, const Container&) = default;
  };

  std::string uid;
  StringMap labels;
  std::string node;
  std::string ip;      ///< empty: none yet
  std::string phase;   ///< "Pending", "Running", "Succeeded", "Failed"
  bool ready = false;  ///< condition Ready
  bool terminating = false;
  bool fast_ready = true;  ///< the sidecar's answer may count before kubelet's (activator.md 6.3)
  std::uint16_t serving_port = 0;  ///< container port named queue-port; 0: it has no sidecar
  std::string scheduling_problem;  ///< message of PodScheduled=False; empty: none
  OwnerReference owner;            ///< its controller
  TimePoint created{};
  std::int32_t deletion_cost = 0;  ///< controller.kubernetes.io/pod-deletion-cost
  std::vector<Container> unready;  ///< init containers first; empty of a pod that starts well
  TimePoint ready_changed{};       ///< last transition of condition Ready; read beside `unready`

  friend bool operator==(const Pod&, const Pod&) = default;
};

[[nodiscard]] std::optional<Pod> decode_pod(std::string_view json);

/// The /scale of anything that has it, read from a Deployment or StatefulSet itself.
struct Workload {
  std::string uid;
  std::int32_t replicas = 1;  ///< spec; absent in the object means 1
  Selector selector;
  bool paused = false;
  bool terminating = false;
  std::int32_t status_replicas = 0;
  std::int32_t status_ready = 0;
  StringMap template_labels;
  StringMap template_annotations;

  /// Of the first container that has ports and is no sidecar of ours.
  struct Port {
    std::string name;
    std::uint16_t number = 0;
    std::string protocol = "TCP";

    friend bool operator==(const Port&, const Port&) = default;
  };

  std::vector<Port> ports;
  std::string progress_problem;  ///< message of Progressing=False or ReplicaFailure=True
  /// What one replica may take by the pod template: the limit of a container, else its request, an
  /// injected sidecar included. Absent: no container but the sidecar says anything.
  std::optional<std::int64_t> claim_memory{};  ///< bytes
  std::optional<std::int64_t> claim_cpu{};     ///< thousandths of a core

  friend bool operator==(const Workload&, const Workload&) = default;
};

[[nodiscard]] std::optional<Workload> decode_workload(std::string_view json);

struct Service {
  struct Port {
    std::string name;
    std::uint16_t port = 0;
    std::string target_port;  ///< a number or a name, as text
    std::string app_protocol;
    std::string protocol = "TCP";

    friend bool operator==(const Port&, const Port&) = default;
  };

  std::string uid;
  StringMap labels;
  StringMap annotations;
  StringMap selector;
  std::vector<Port> ports;
  std::string cluster_ip;  ///< "None": headless
  std::string type;
  OwnerReference owner;
  std::string resource_version;

  friend bool operator==(const Service&, const Service&) = default;
};

[[nodiscard]] std::optional<Service> decode_service(std::string_view json);

struct EndpointSlice {
  struct Endpoint {
    std::string address;  ///< IP
    bool ready = false;
    bool serving = false;
    bool terminating = false;
    std::string target;  ///< name of the pod; empty: none
    std::string node;

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };

  struct Port {
    std::string name;
    std::uint16_t port = 0;
    std::string app_protocol;
    std::string protocol = "TCP";

    friend bool operator==(const Port&, const Port&) = default;
  };

  StringMap labels;
  OwnerReference owner;
  std::string address_type;  ///< "IPv4", "IPv6", "FQDN"
  std::vector<Endpoint> endpoints;
  std::vector<Port> ports;

  friend bool operator==(const EndpointSlice&, const EndpointSlice&) = default;
};

[[nodiscard]] std::optional<EndpointSlice> decode_endpoint_slice(std::string_view json);

/// data of a ConfigMap.
[[nodiscard]] std::optional<StringMap> decode_config_map(std::string_view json);

/// Another scaler of a target: a HorizontalPodAutoscaler or a ScaledObject of KEDA.
struct OtherScaler {
  std::string target_kind;
  std::string target_name;

  friend bool operator==(const OtherScaler&, const OtherScaler&) = default;
};

[[nodiscard]] std::optional<OtherScaler> decode_other_scaler(std::string_view json);

}  // namespace sluice::kube
