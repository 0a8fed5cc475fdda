#pragma once

#include "common/base/result.h"
#include "common/kube/sidecar.h"

#include "injector/patch/json_access.h"
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::injector {

/// What every injected pod gets alike.
struct InjectionSettings {
  std::string image;
  std::string version;  ///< of the injection: value of the annotation sluice.dev/injected
  std::string pull_policy = "IfNotPresent";  ///< empty: the cluster's default
  /// An init container that stays, which Kubernetes supports from 1.29 on; else an ordinary
  /// container.
  bool native = true;
  /// A pod that has the sidecar gets a new one: it may be of another version, and the pod may have
  /// been changed since. Else it is left as it is.
  bool renew = false;
  kube::SidecarResources resources;
};

/// Settings of a RequestScaler for the pods of its target; they win over annotations.
struct ScalerFacts {
  std::string name;
  std::string service;
  long container_concurrency = 0;
  long timeout_seconds = 300;
  long response_start_timeout_seconds = 0;
  long idle_timeout_seconds = 0;
  std::vector<std::string> ignore_paths = {};  ///< requests that count for nothing
  std::vector<std::string> ignore_user_agents = {};

  friend bool operator==(const ScalerFacts&, const ScalerFacts&) = default;
};

/// What a pod belongs to.
struct PodOwner {
  std::string name;  ///< of the workload that a person wrote
  std::optional<ScalerFacts> scaler;
};

struct Verdict {
  enum class Kind : std::uint8_t {
    patched,
    skipped,  ///< nothing to do here: `why` has the reason
    refused,  ///< it cannot be done: `why` with its fix
  };

  Kind kind = Kind::patched;
  Problem why;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// Adds the sidecar to `pod`, a Pod or a pod template; it is as before unless the verdict is
/// `patched`. The one function behind the webhook and `sluice inject`.
[[nodiscard]] Verdict inject(Json& pod, const PodOwner& owner, const InjectionSettings& settings);

/// Takes out exactly what inject() put in. False: there was nothing.
bool restore(Json& pod);

/// Whether `pod` has the sidecar by inject().
[[nodiscard]] bool is_injected(const Json& pod);

/// What leads from one document to the other, as an RFC 6902 patch.
[[nodiscard]] std::string json_patch(const Json& before, const Json& after);

/// Name and kind of the workload behind `pod` by its owner: a ReplicaSet counts as the Deployment
/// that made it. Without an owner the pod's own name.
struct OwnerName {
  std::string kind;
  std::string name;

  friend bool operator==(const OwnerName&, const OwnerName&) = default;
};

[[nodiscard]] OwnerName owner_of(const Json& pod);

}  // namespace sluice::injector
