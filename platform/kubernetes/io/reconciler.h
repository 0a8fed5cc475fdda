#pragma once

#include "common/log/log.h"
#include "common/scaling/cluster_config.h"
#include "common/time/clock.h"

#include "platform/kubernetes/core/activator_ports.h"
#include "platform/kubernetes/core/event_log.h"
#include "platform/kubernetes/io/activator_probes.h"
#include "platform/kubernetes/io/cluster_view.h"
#include "platform/kubernetes/io/governed_scaler.h"
#include "platform/kubernetes/io/object_writer.h"
#include "platform/kubernetes/io/reconcile_loop.h"
#include "platform/kubernetes/io/scaler_sight.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace sluice::autoscaler {

/// Brings the objects of a scaler to the decided state: where requests go, how many replicas there
/// should be, and its status. Compares everything each time and writes what differs, so missed
/// events do not matter. Steps: gather, plan, write.
class Reconciler {
 public:
  /// All of it outlives the reconciler.
  struct Means {
    const Clock& clock;
    const log::Logger& log;
    const ClusterView& view;
    ObjectWriter& writer;
    ActivatorProbes& probes;
    ActivatorPorts& ports;
    ReconcileLoop& loop;
    EventLog& events;
    const ClusterConfig& config;
    std::map<RevisionId, GovernedScaler>& governed;
  };

  explicit Reconciler(Means means) : means_{std::move(means)} {}

  /// `governed` is that of the scaler that `sight` shows.
  void reconcile(const ScalerSight& sight, GovernedScaler& governed);

  /// Only what people read, while too little is known to do more.
  void tell_trouble(const ScalerSight& sight, GovernedScaler& governed);

  [[nodiscard]] std::uint64_t failures() const { return failures_; }

 private:
  [[nodiscard]] std::optional<Trouble> route(const ScalerSight& sight, GovernedScaler& governed);
  [[nodiscard]] Route route_of(const ScalerSight& sight, const GovernedScaler& governed,
                               std::uint16_t port) const;
  [[nodiscard]] bool write_slices(const ScalerSight& sight, GovernedScaler& governed,
                                  const SlicePlan& plan);
  void step(ServiceStep step, const ScalerSight& sight, GovernedScaler& governed);
  void remove_strays(const ScalerSight& sight);
  void give_back(const ScalerSight& sight);
  void remove_finalizer(const ScalerSight& sight, const GovernedScaler& governed);
  void sweep(const ScalerSight& sight, GovernedScaler& governed);
  void follow_proxy(GovernedScaler& governed, bool wanted, bool stands);
  void scale(const ScalerSight& sight, GovernedScaler& governed);
  void notice_hand_edit(const ScalerSight& sight, GovernedScaler& governed);
  void tell_events(const ScalerSight& sight, GovernedScaler& governed);
  void write_status(const ScalerSight& sight, GovernedScaler& governed, const ConditionView& view);
  void event(const ScalerRef& scaler, bool warning, std::string reason, std::string message);
  bool write(const RevisionId& id, const std::string& object, kube::Request request,
             std::function<void(GovernedScaler&)> done = {});
  void landed(const RevisionId& id, const std::string& object, const kube::Answer& answer,
              const std::function<void(GovernedScaler&)>& done);
  void forget_unplanned(const RevisionId& id, GovernedScaler& governed);

  Means means_;
  std::uint64_t failures_ = 0;
};

}  // namespace sluice::autoscaler
