#pragma once

#include <nlohmann/json.hpp>

#include "injector/patch/pod_patch.h"
#include <map>
#include <string>
#include <string_view>

// Pods to inject, and short views of what came out.
namespace sluice::injector {

/// A pod with one container, `app`, on port 8080.
[[nodiscard]] Json plain_pod();

[[nodiscard]] InjectionSettings usual_settings();

[[nodiscard]] PodOwner shop();

/// The pod after a successful injection.
[[nodiscard]] Json injected(const Json& pod, const PodOwner& owner = shop(),
                            const InjectionSettings& settings = usual_settings());

/// The sidecar's container, wherever it is; null: none.
[[nodiscard]] const Json& sidecar_of(const Json& pod);

/// Its variables; those from the downward API as `<metadata.name>`.
[[nodiscard]] std::map<std::string, std::string> variables_of(const Json& pod);

/// `patched`, or `skipped: ...`, or `refused: what; fix`.
[[nodiscard]] std::string told(const Json& pod, const PodOwner& owner = shop(),
                               const InjectionSettings& settings = usual_settings());

[[nodiscard]] Json annotated(Json pod, const std::string& key, const std::string& value);

}  // namespace sluice::injector
