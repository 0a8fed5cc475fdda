#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "common/base/ids.h"
#include "common/model/revision.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace sluice::autoscaler {

/// Which revision an answer or an event is about.
struct About {
  RevisionId id;
  std::string service;
};

[[nodiscard]] inline About about(const model::Revision& of) {
  return {of.id, of.service};
}

/// The decision object of protocols.md 5.
[[nodiscard]] nlohmann::json decision_json(const DecisionRecord& record, const About& of);

/// The same with its "inputs", as `explain` has it.
[[nodiscard]] nlohmann::json explained_json(const DecisionRecord& record, const About& of);

/// Seconds of panic up to the decision; null in the stable mode.
[[nodiscard]] nlohmann::json mode_for_s(const DecisionRecord& record);

}  // namespace sluice::autoscaler
