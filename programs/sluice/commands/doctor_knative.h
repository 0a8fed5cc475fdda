#pragma once

#include "common/kube/objects.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::commands {

/// What an API server says of an installed Knative; absent: there is no such object.
struct KnativeFacts {
  std::string space = "knative-serving";

  struct Program {
    std::string name;     ///< of its Deployment
    std::string version;  ///< label app.kubernetes.io/version
    std::string image;    ///< of its first container
  };

  std::vector<Program> programs;
  std::optional<kube::StringMap> autoscaler;     ///< config-autoscaler
  std::optional<kube::StringMap> deployment;     ///< config-deployment
  std::optional<kube::StringMap> network;        ///< config-network
  std::optional<kube::StringMap> observability;  ///< config-observability
  std::optional<kube::StringMap> activators;     ///< selector of activator-service
  std::string stats;    ///< where the Service autoscaler leads instead of to Knative's own
  std::string sidecar;  ///< image that this release of Knative came with, by its Image queue-proxy
  std::map<std::string, std::size_t> classes;  ///< PodAutoscalers, by their class annotation
};

/// One step of a replacement (ecosystem.md 6.3): a part of Knative that ours can stand in for.
struct KnativeLevel {
  enum class Grade { safe, careful, unsafe };

  Grade grade = Grade::safe;
  std::string name;
  std::vector<std::string> changes;  ///< what becomes different by it, a sentence each
  std::vector<std::string> why;      ///< what stands against it, with the fix
  std::string needs;                 ///< what must be there before; empty: nothing
  std::string now;                   ///< what of it is ours already; empty: nothing
  std::string set;                   ///< the one value
  std::string restore;               ///< what Knative has there
};

struct KnativeReport {
  bool found = false;                                      ///< there is a Knative
  std::vector<std::pair<std::string, std::string>> facts;  ///< the contract among them
  std::vector<KnativeLevel> levels;

  /// Every level can be gone to.
  [[nodiscard]] bool good() const;
};

/// `version`: of our images.
[[nodiscard]] KnativeReport judge_knative(const KnativeFacts& facts, const std::string& version);

/// A table for people.
[[nodiscard]] std::string knative_text(const KnativeReport& report);

struct Surroundings;

/// Reads the cluster that SLUICE_KUBECONFIG, KUBECONFIG or the service account leads to and prints
/// what of its Knative can be replaced. Nothing is written. Returns the exit code.
[[nodiscard]] int run_doctor_knative(const Surroundings& with, const std::string& space);

}  // namespace sluice::commands
