#pragma once

#include "common/settings/knative_contract.h"

#include "programs/sluice/commands/doctor_knative.h"
#include <string>
#include <vector>

// What becomes different for people and applications at each level, one sentence each, under the
// contract of the installed Knative. docs/knative-contracts.md has the same, and both contracts
// side by side.
namespace sluice::commands {

/// The release of the Knative that `facts` are of, such as `1.15.2`; empty: its label names none.
[[nodiscard]] std::string release_of(const KnativeFacts& facts);

/// The contract that our parts follow beside it.
[[nodiscard]] settings::KnativeContract contract_beside(const KnativeFacts& facts);

[[nodiscard]] std::vector<std::string> sidecar_changes(const KnativeFacts& facts);
[[nodiscard]] std::vector<std::string> autoscaler_changes();
[[nodiscard]] std::vector<std::string> activator_changes(const KnativeFacts& facts);

}  // namespace sluice::commands
