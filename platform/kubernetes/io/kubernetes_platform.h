#pragma once

#include "autoscaler/io/platform.h"

#include "platform/kubernetes/io/cluster_ground.h"
#include "platform/kubernetes/io/reconciler.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Deployments and StatefulSets of a cluster, each named by a RequestScaler, as a platform: what
/// runs comes from watches, orders become writes (protocols.md 8). An API server that is
/// unavailable or slow delays writes and events; everything else continues with the last state.
class KubernetesPlatform final : public Platform {
 public:
  struct Self {
    std::string pod;           ///< in whose name events are written
    std::string system_space;  ///< where our own programs live
  };

  struct Events {
    std::function<void(const RevisionId&)> named;    ///< a RequestScaler has that name
    std::function<void(const RevisionId&)> unnamed;  ///< it has gone
    /// The data of config-autoscaler: once before anything is reported, then with each change.
    std::function<void(const StringMap&)> config;
  };

  KubernetesPlatform(ClusterGround ground, Self self, Events events);

  /// `settled` is called when everything is known, however long that takes.
  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

  [[nodiscard]] std::vector<std::string> wrong() const override { return view_.wrong(); }

  [[nodiscard]] std::vector<HealthCheck> checks() const override;
  void write_metrics(metrics::Families& families) const override;

  /// Everything is known.
  [[nodiscard]] bool synced() const { return view_.synced(); }

  /// If only the other scalers of a target are not known yet, goes without them. Returns synced().
  bool do_without_others();

  /// Looks at each scaler of ours. While not everything is known, its status has the reason.
  void look_at_all();

  /// ClusterGround::owns answers otherwise now. The listener gets lost revisions at once, and new
  /// ones soon.
  void owners_changed();

  void config_changed();

  /// Whether a RequestScaler has that name.
  [[nodiscard]] bool names(const RevisionId& id) const { return view_.scaler(id) != nullptr; }

  /// The node of a pod; empty: it has none yet. Absent: no such pod is known.
  [[nodiscard]] std::optional<std::string> node_of(const kube::ObjectName& pod) const {
    return view_.node_of(pod);
  }

 private:
  [[nodiscard]] ClusterView::Events view_events();
  void touched(const RevisionId& id);
  void gone(const RevisionId& id);
  void on_synced();
  void look(const RevisionId& id);
  void tell(const ScalerSight& sight, GovernedScaler& governed);
  void send_event();
  void look_at_governed();

  ClusterGround ground_;
  const Clock& clock_;
  Self self_;
  Events on_;
  model::Listener* listener_ = nullptr;  // of open()
  Settled settled_;
  std::map<RevisionId, GovernedScaler> governed_;
  ActivatorPorts ports_;
  EventLog events_;
  ReconcileLoop loop_;
  ObjectWriter writer_;
  ActivatorProbes probes_;
  ClusterView view_;
  Reconciler reconciler_;
};

}  // namespace sluice::autoscaler
