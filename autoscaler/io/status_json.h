#pragma once

#include "autoscaler/core/nodes/node_book.h"
#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/revision.h"
#include "common/scaling/cluster_config.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// `asleep`, `starting`, `awake`, `draining` or `failing`. A text of static lifetime.
[[nodiscard]] std::string_view state_of(const Revision& revision);

/// `starting`, `ready` or `draining`. A text of static lifetime.
[[nodiscard]] std::string_view state_of(const Revision& revision, const Revision::PodFacts& pod);

/// What is shown of a revision, without its replicas, as it is at one time.
struct RevisionStatus {
  About of;
  std::string url{};  ///< empty: it has none
  std::string_view state{};
  Revision::Counts counts{};
  Bounds bounds{};  ///< in force
  std::int32_t desired = 0;
  std::int32_t granted = 0;
  DecisionRecord decision{};
  double rps = 0;
  double in_flight = 0;
  std::optional<double> last_cold_start_ms{};
  std::string start_failure{};  ///< empty: none
};

[[nodiscard]] RevisionStatus status_of(const Revision& revision,
                                       std::optional<double> last_cold_start_ms);

/// The status object of protocols.md 5 without "replicas". Null in it: what only activators can
/// report.
[[nodiscard]] nlohmann::json status_json(const RevisionStatus& status);

/// All of it, of a revision with this last cold_start event (null: none).
[[nodiscard]] nlohmann::json status_json(const Revision& revision,
                                         const nlohmann::json& last_cold_start);

/// A node as its agent last reported it.
[[nodiscard]] nlohmann::json node_json(const std::string& name, const NodeBook::Node& node);

/// The cluster's configuration by the keys of `config-autoscaler`.
[[nodiscard]] nlohmann::json config_json(const ClusterConfig& config);

}  // namespace sluice::autoscaler
