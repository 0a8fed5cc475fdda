#pragma once

#include "common/base/ids.h"
#include "common/settings/knative_contract.h"
#include "common/time/time_point.h"

#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the activator keeps of a cluster, and nothing that it does not use.
namespace sluice::activator {

/// Labels or annotations.
using Labels = std::map<std::string, std::string, std::less<>>;

/// The coordinates of an object within its kind.
struct ClusterName {
  std::string space;
  std::string name;

  friend auto operator<=>(const ClusterName&, const ClusterName&) = default;
};

/// The settings of a RequestScaler, or of a revision of Knative's, for requests.
struct ServingSpec {
  std::string service = {};        ///< the name shown to people
  std::string configuration = {};  ///< of a revision of Knative's
  bool h2c = false;
  std::int32_t container_concurrency = 0;
  Duration timeout = std::chrono::seconds{300};
  Duration response_start_timeout{0};
  Duration idle_timeout{0};
  Labels annotations = {};
  std::uint16_t port = 0;  ///< of a RequestScaler: where its requests arrive; 0: none yet
  /// Of a revision of Knative's, whose containers are known here and not pod by pod.
  bool fast_ready = true;

  friend bool operator==(const ServingSpec&, const ServingSpec&) = default;
};

/// A pod that carries our sidecar.
struct ClusterPod {
  Labels labels;
  std::string ip;          ///< empty: none yet
  std::uint16_t port = 0;  ///< where its sidecar serves; 0: it has none
  bool ready = false;
  bool terminating = false;  ///< or ended
  bool fast_ready =
      true;  ///< its sidecar's answer may count before the platform's (activator.md 6.3)

  friend bool operator==(const ClusterPod&, const ClusterPod&) = default;
};

/// A private service: which pods serve a RequestScaler.
struct PodSelection {
  RevisionId revision;
  Labels selector;  ///< empty: no pod

  friend bool operator==(const PodSelection&, const PodSelection&) = default;
};

/// One port of an EndpointSlice or a Service.
struct SlicePort {
  std::string name;
  std::uint16_t port = 0;

  friend bool operator==(const SlicePort&, const SlicePort&) = default;
};

/// One address of an EndpointSlice.
struct SliceEndpoint {
  std::string ip;
  std::string pod;  ///< empty: it is no pod's
  bool ready = false;
  bool terminating = false;

  friend bool operator==(const SliceEndpoint&, const SliceEndpoint&) = default;
};

/// An EndpointSlice.
struct ClusterSlice {
  RevisionId revision;  ///< its revision; none for those of the activators
  std::vector<SlicePort> ports;
  std::vector<SliceEndpoint> endpoints;

  friend bool operator==(const ClusterSlice&, const ClusterSlice&) = default;
};

/// A private Service, by which the pods of a revision are reached together.
struct PrivateService {
  RevisionId revision;
  std::string ip;
  std::vector<SlicePort> ports;

  friend bool operator==(const PrivateService&, const PrivateService&) = default;
};

/// Where it is reached over that protocol.
struct ServiceAddress {
  std::string ip;
  std::uint16_t port = 0;
  std::uint16_t tls_port = 0;  ///< 0: none

  friend bool operator==(const ServiceAddress&, const ServiceAddress&) = default;
};

/// An IP address and a port.
struct ClusterAddress {
  std::string ip;
  std::uint16_t port = 0;

  friend auto operator<=>(const ClusterAddress&, const ClusterAddress&) = default;
};

/// A pod of a revision that can be dialled.
struct ReachablePod {
  std::string name;
  std::string ip;
  std::uint16_t port = 0;
  bool ready = false;
  bool terminating = false;
  bool fast_ready = true;

  friend bool operator==(const ReachablePod&, const ReachablePod&) = default;
};

/// A revision with its pods, as the cluster has them now.
struct ClusterRevision {
  RevisionId id;
  ServingSpec spec;
  std::vector<ReachablePod> pods;  ///< by name
  /// IP addresses of the activators that its public service leads to, sorted; empty: to none now.
  std::vector<std::string> activators = {};
  std::optional<ServiceAddress> service = {};  ///< absent: it has none that can be dialled
  /// A RequestScaler's is always the current one.
  settings::KnativeContract contract = settings::KnativeContract::current;

  friend bool operator==(const ClusterRevision&, const ClusterRevision&) = default;
};

}  // namespace sluice::activator
