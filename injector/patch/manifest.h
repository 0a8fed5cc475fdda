#pragma once

#include "common/base/result.h"

#include "injector/patch/pod_patch.h"
#include <set>
#include <string>
#include <vector>

namespace sluice::injector {

/// The result for the documents of one stream.
struct ManifestChange {
  std::set<std::size_t> changed;   ///< which documents are other than before
  std::vector<std::string> notes;  ///< what was left alone, and why
};

/// Injects the Pods and the pod templates of Deployments, StatefulSets and ReplicaSets among
/// `documents`, Lists included. RequestScalers among them have settings for the sidecars; with
/// `services`, ports of Services that lead to an injected app lead to its sidecar from now on,
/// unless it selects pods without a sidecar as well. A template that cannot be injected is a
/// problem, and nothing is to be used then.
[[nodiscard]] Result<ManifestChange, Problem> inject_manifest(std::vector<Json>& documents,
                                                              const InjectionSettings& settings,
                                                              bool services);

/// Takes back what inject_manifest() has done.
[[nodiscard]] ManifestChange restore_manifest(std::vector<Json>& documents);

}  // namespace sluice::injector
