#pragma once

#include "autoscaler/io/fleet.h"
#include "autoscaler/io/front_facts.h"
#include "autoscaler/io/revision.h"

#include <nlohmann/json_fwd.hpp>

namespace sluice::autoscaler {

/// The status of a service whose revision in service is `revision`: with what the front door knows
/// of it (`front`; null in a cluster), and with the replicas of revisions that it replaces and that
/// still drain. `last_cold_start`: its event, or null.
[[nodiscard]] nlohmann::json service_status(const Revision& revision, const Fleet& fleet,
                                            const FrontFacts* front,
                                            const nlohmann::json& last_cold_start);

}  // namespace sluice::autoscaler
