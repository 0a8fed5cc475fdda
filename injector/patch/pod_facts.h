#pragma once

#include "common/base/result.h"

#include <nlohmann/json.hpp>

#include "injector/patch/json_access.h"
#include "injector/patch/pod_patch.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

// For the sources of this room only, since it brings the JSON library along.
namespace sluice::injector {

/// One port of the sidecar.
struct SidecarPort {
  std::string name;
  long number = 0;
};

/// The facts of a pod that the sidecar needs.
struct PodFacts {
  long app_port = 0;
  const Json* app = nullptr;  ///< the container behind that port, of the pod
  SidecarPort serving;
  SidecarPort admin;
  SidecarPort stats;
  SidecarPort metrics;
  long concurrency = 0;
  long timeout_seconds = 300;
  long response_start_timeout_seconds = 0;
  long idle_timeout_seconds = 0;
  long grace_seconds = 30;                       ///< the pod's own, or what it is to be
  std::map<std::string, std::string> variables;  ///< of sluice.dev/config

  [[nodiscard]] std::vector<const SidecarPort*> ports() const {
    return {&serving, &admin, &stats, &metrics};
  }
};

/// What is wrong with the form of `pod`, so that the rest may rely on it; nothing when it is well.
[[nodiscard]] std::optional<Problem> wrong_form(const Json& pod);

[[nodiscard]] Result<PodFacts, Problem> read_facts(const Json& pod, const PodOwner& owner);

/// Reads sluice.dev/config: variables of the sidecar that nothing else sets.
[[nodiscard]] Result<std::map<std::string, std::string>, Problem> read_variables(
    const std::string& json);

}  // namespace sluice::injector
