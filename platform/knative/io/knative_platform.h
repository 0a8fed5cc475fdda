#pragma once

#include "autoscaler/io/platform.h"
#include "common/kube/group_presence.h"

#include "platform/knative/core/shadow_book.h"
#include "platform/knative/io/knative_view.h"
#include "platform/knative/io/public_probe.h"
#include "platform/kubernetes/io/cluster_ground.h"
#include "platform/kubernetes/io/object_writer.h"
#include "platform/kubernetes/io/reconcile_loop.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Revisions of a Knative that is installed in the cluster, as a platform (autoscaler.md 16.4,
/// 16.5): those of our class are scaled instead of by Knative's autoscaler. As a shadow it reports
/// all of them, of whatever class, and writes nothing: its orders are compared with
/// Knative's. Without Knative in the cluster it does nothing.
class KnativePlatform final : public Platform {
 public:
  struct Rules {
    std::function<bool(const RevisionId&)> taken;  ///< another platform scales that name
    std::string domain = "cluster.local";
    bool shadow = false;
  };

  KnativePlatform(ClusterGround ground, Rules rules);

  /// `settled` is called when Knative's revisions are known, or Knative is not there.
  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& id) override;
  void apply(const RevisionId& id, const ScaleOrder& order) override;
  void forget(const RevisionId& id) override;
  void probe(const RevisionId& id, std::function<void(bool ok)> done) override;

  /// Collections that are not followed though Knative is there.
  [[nodiscard]] std::vector<std::string> wrong() const override;

  /// None: what Knative lacks makes no replica of ours unready.
  [[nodiscard]] std::vector<HealthCheck> checks() const override { return {}; }

  void write_metrics(metrics::Families& families) const override;

  /// ClusterGround::owns answers otherwise now.
  void owners_changed() { touch_all(); }

  void config_changed() { touch_all(); }

  /// The name is taken now: the revision is no longer scaled here.
  void yield(const RevisionId& id) { drop(id, false); }

  /// It no longer is: the revision is scaled here again, if it is one of ours.
  void take_back(const RevisionId& id);

  /// Whether this replica scales, or shadows, that revision.
  [[nodiscard]] bool governs(const RevisionId& id) const { return governed_.contains(id); }

  /// Whether some replica of ours scales it. Never as a shadow.
  [[nodiscard]] bool scales(const RevisionId& id) const;

  [[nodiscard]] const ShadowBook& shadow() const { return shadow_; }

 private:
  struct Governed {
    bool told = false;
    bool news = true;
    std::optional<ScaleOrder> order;
    TimePoint status_written{};
    std::set<std::string> written{};  // objects that this wrote
    std::set<std::string> failing{};  // of them those whose last write failed
    std::set<std::string> planned{};  // those that the last look wanted written
    std::string complaint{};          // that was logged last
  };

  void touched(const RevisionId& id);
  void gone(const RevisionId& id);
  void drop(const RevisionId& id, bool released);
  void touch_all();
  void on_synced();
  void settle();
  void look(const RevisionId& id);
  [[nodiscard]] bool wanted(const PodAutoscaler& object) const;
  [[nodiscard]] PodAutoscalerSight sight_of(const RevisionId& id, const PodAutoscaler& object,
                                            const Governed& governed) const;
  void reconcile(const RevisionId& id, const PodAutoscalerSight& sight, Governed& governed);
  void write_serverless(const RevisionId& id, const PodAutoscalerSight& sight, Governed& governed);
  void write_scale(const RevisionId& id, const PodAutoscalerSight& sight, Governed& governed);
  void write_status(const RevisionId& id, const PodAutoscalerSight& sight, Governed& governed);
  void write(const RevisionId& id, const std::string& object, kube::Request request);
  void landed(const RevisionId& id, const std::string& object, const kube::Answer& answer);
  void compare(const RevisionId& id);
  void complain(const RevisionId& id, Governed& governed, std::string what);

  ClusterGround ground_;
  const Clock& clock_;
  Rules rules_;
  model::Listener* listener_ = nullptr;  // of open()
  Settled settled_;
  std::map<RevisionId, Governed> governed_;
  ReconcileLoop loop_;
  ShadowBook shadow_;
  ObjectWriter writer_;
  PublicProbe probe_;
  KnativeView view_;
  kube::GroupPresence presence_;  // the view is started by it
};

}  // namespace sluice::autoscaler
