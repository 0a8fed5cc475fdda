#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "common/model/revision.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::autoscaler {

/// The decision object of protocols.md 5, of the revision `of`.
[[nodiscard]] nlohmann::json decision_json(const DecisionRecord& record, const model::Revision& of);

/// The same with its "inputs", as `explain` has it.
[[nodiscard]] nlohmann::json explained_json(const DecisionRecord& record,
                                            const model::Revision& of);

/// Seconds of panic up to the decision; null in the stable mode.
[[nodiscard]] nlohmann::json mode_for_s(const DecisionRecord& record);

}  // namespace sluice::autoscaler
