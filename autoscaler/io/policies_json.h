#pragma once

#include "autoscaler/placement/core/rules.h"
#include "autoscaler/placement/io/mover.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::autoscaler {

/// Every policy of `rules`, and `default` for what they leave to it, with the services that it
/// would choose now in each place (protocols.md 5, POST /placement/check).
[[nodiscard]] nlohmann::json policies_json(const placement::Rules& rules, Mover& mover,
                                           const placement::Ledger& ledger);

}  // namespace sluice::autoscaler
