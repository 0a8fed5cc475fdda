#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/scaling/cluster_config.h"

#include "platform/knative/core/knative_objects.h"
#include <cstdint>
#include <optional>

// What is to be written for a PodAutoscaler of ours (autoscaler.md 8 and 16.5).
namespace sluice::autoscaler {

/// Whether we scale it: it is of our class, or of none where ours is the cluster's default. Knative
/// passes over objects without a class, so the default alone is enough.
[[nodiscard]] bool is_ours(const PodAutoscaler& object, const ClusterConfig& config);

/// Its annotations as the scaler reads them. A revision that has reached its initial scale once,
/// which its status remembers across our restarts, is not brought there again.
[[nodiscard]] StringMap scaling_annotations(const PodAutoscaler& object);

/// Everything that one look at a PodAutoscaler sees. All pointers may be null but `object`.
struct PodAutoscalerSight {
  const PodAutoscaler* object = nullptr;
  const ServerlessObject* serverless = nullptr;
  const kube::Workload* target = nullptr;
  const ScaleOrder* order = nullptr;  ///< null: no decision has been made yet
  std::int32_t ready = 0;             ///< pods
  ScalingSpec scaling;
};

/// What its ServerlessService should be.
struct ServerlessWish {
  enum class Step : std::uint8_t {
    nothing,
    create,
    correct,
    not_owned,  ///< another owner's object has its name: it is left alone
  };

  Step step = Step::nothing;
  RouteMode mode = RouteMode::proxy;
  std::int32_t activators = 2;

  friend bool operator==(const ServerlessWish&, const ServerlessWish&) = default;
};

/// Proxied by two activators until its private Service is known, then as was ordered. Without an
/// order the present mode stays: we may have just started.
[[nodiscard]] ServerlessWish plan_serverless(const PodAutoscalerSight& sight);

/// Replicas to write; absent: nothing.
[[nodiscard]] std::optional<std::int32_t> plan_target(const PodAutoscalerSight& sight);

/// The number that its status shows as wanted: 0 as soon as it is inactive, though the last pod may
/// still wait for the activators to take over.
[[nodiscard]] std::int32_t shown_want(const ScaleReport& report);

/// Its whole status. Equal to the present one: there is nothing to write.
[[nodiscard]] PodAutoscaler::Status plan_status(const PodAutoscalerSight& sight, TimePoint now);

}  // namespace sluice::autoscaler
