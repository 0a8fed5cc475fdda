#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::settings {

/// What an installed Knative expects of a sidecar and an activator: how timeouts bound a request,
/// what is logged and under which names it is measured. docs/knative-contracts.md is the table.
enum class KnativeContract : std::uint8_t {
  current,  ///< Knative 1.19 and later, whose programs get OBSERVABILITY_CONFIG; also no Knative
  older,    ///< Knative 1.18 and before
};

/// The minor number of a release: 15 of `1.15.2`, `v1.15` or `1.15.0-rc1`. Nothing: the text is no
/// release of Knative 1.
[[nodiscard]] std::optional<int> knative_minor(std::string_view version);

/// The contract of a release; nothing as above.
[[nodiscard]] std::optional<KnativeContract> contract_of(std::string_view version);

}  // namespace sluice::settings
