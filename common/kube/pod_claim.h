#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>

namespace sluice::kube {

/// What a pod of this spec, a template's, may take: bytes, and thousandths of a core. A sidecar
/// that is not in the template counts as the injector adds it. Absent: no container but the sidecar
/// says anything.
[[nodiscard]] std::optional<std::int64_t> memory_claim(const nlohmann::json& pod_spec);
[[nodiscard]] std::optional<std::int64_t> cpu_claim(const nlohmann::json& pod_spec);

}  // namespace sluice::kube
