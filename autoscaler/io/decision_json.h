#pragma once

#include "autoscaler/core/decision/decision_record.h"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace sluice::autoscaler {

/// Whose decision it is, as people name it.
struct DecisionOwner {
  std::string_view space;
  std::string_view service;
};

/// The decision object of protocols.md 5.
[[nodiscard]] nlohmann::json decision_json(const DecisionRecord& record,
                                           const DecisionOwner& owner);

/// Seconds of panic up to the decision; null in the stable mode.
[[nodiscard]] nlohmann::json mode_for_s(const DecisionRecord& record);

/// What a decision was made from beside its own numbers: the "inputs" of `explain`.
[[nodiscard]] nlohmann::json decision_inputs_json(const DecisionRecord& record);

}  // namespace sluice::autoscaler
