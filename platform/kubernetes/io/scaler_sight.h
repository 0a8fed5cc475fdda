#pragma once

#include "common/model/revision.h"
#include "common/scaling/cluster_config.h"

#include "platform/kubernetes/core/scale_plan.h"
#include "platform/kubernetes/core/service_plan.h"
#include "platform/kubernetes/core/slice_plan.h"
#include "platform/kubernetes/core/trouble.h"
#include "platform/kubernetes/io/cluster_view.h"
#include "platform/kubernetes/io/documents.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// All objects of one scaler in the API server, gathered before anything is decided. Borrowed
/// from the view, which does not change while one scaler is looked at.
struct ScalerSight {
  RevisionId id;
  const kube::RequestScaler* scaler = nullptr;
  const kube::Workload* target = nullptr;
  const kube::Service* front = nullptr;
  const kube::Service* pods_service = nullptr;
  std::optional<OriginalService> original;
  ClusterView::Services left_behind;  ///< that it took over before it named another one
  ClusterView::Pods pods;             ///< the oldest first
  ClusterView::Slices slices;
  std::optional<RevisionId> service_rival;
  std::optional<Trouble> target_trouble;
  std::optional<Trouble> conflict;

  [[nodiscard]] ScalerRef ref() const { return {id, scaler->uid}; }

  [[nodiscard]] std::string front_name() const { return autoscaler::front_name(id, *scaler); }

  [[nodiscard]] std::int32_t injected_ready() const;
};

/// `scaler` is that of `id`, in `view`.
[[nodiscard]] ScalerSight look_at(const ClusterView& view, const RevisionId& id,
                                  const kube::RequestScaler& scaler);

/// The same, as the scaler uses a revision.
[[nodiscard]] model::Revision watched(const ScalerSight& sight);

[[nodiscard]] std::vector<ScalePod> scale_pods(const ScalerSight& sight);

/// Pods that have no sidecar though they should; absent: all is well, or there is none to look at.
[[nodiscard]] std::optional<Trouble> sidecar_trouble(const ScalerSight& sight);

/// Annotations that count as absent, since they are wrong.
[[nodiscard]] std::optional<Trouble> settings_trouble(const ScalerSight& sight,
                                                      const ClusterConfig& config);

/// Ports of the public Service, as far as they are known.
[[nodiscard]] std::vector<kube::Service::Port> front_ports_of(const ScalerSight& sight);

/// Where requests go: one port for those that come through an activator, the pods' own otherwise.
struct Route {
  RouteMode mode = RouteMode::proxy;
  std::vector<std::string> addresses;  ///< activators' IPs, or `ip:port` of pods
  std::uint16_t activator_port = 0;
};

/// The endpoints of a route, and those of ports that carry no requests, which lead to the pods.
[[nodiscard]] std::vector<EndpointGroup> endpoint_groups(const ScalerSight& sight,
                                                         const Route& route);

}  // namespace sluice::autoscaler
