#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/revision.h"
#include "common/scaling/cluster_config.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// `asleep`, `starting`, `awake`, `draining` or `failing`. A text of static lifetime.
[[nodiscard]] std::string_view state_of(const Revision& revision);

/// `starting`, `ready` or `draining`. A text of static lifetime.
[[nodiscard]] std::string_view state_of(const Revision& revision, const Revision::PodFacts& pod);

/// The status object of protocols.md 5, of a revision with this last cold_start event (null: none).
/// Null in it: what only activators know.
[[nodiscard]] nlohmann::json status_json(const Revision& revision,
                                         const nlohmann::json& last_cold_start);

/// A node as its agent last reported it.
[[nodiscard]] nlohmann::json node_json(const std::string& name, const NodeBook::Node& node);

/// The cluster's configuration by the keys of `config-autoscaler`.
[[nodiscard]] nlohmann::json config_json(const ClusterConfig& config);

}  // namespace sluice::autoscaler
