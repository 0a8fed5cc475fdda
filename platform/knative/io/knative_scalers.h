#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/kube/group_presence.h"
#include "common/loop/asio_loop.h"
#include "common/model/revision.h"
#include "common/scaling/cluster_config.h"

#include "platform/knative/core/shadow_book.h"
#include "platform/knative/io/knative_view.h"
#include "platform/knative/io/public_probe.h"
#include "platform/kubernetes/io/object_writer.h"
#include "platform/kubernetes/io/reconcile_loop.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Revisions of a Knative that is installed in the cluster, as more revisions of the platform
/// (autoscaler.md 16.4, 16.5): those of our class are scaled in the place of Knative's autoscaler.
/// As a shadow it tells of all of them, of whatever class, and writes nothing: what is ordered is
/// compared with what Knative wants. Without Knative in the cluster it does nothing.
class KnativeScalers {
 public:
  struct Rules {
    std::function<bool(const RevisionId&)> owns;   ///< it is this replica's to scale
    std::function<bool(const RevisionId&)> taken;  ///< a RequestScaler has that name
    /// Called before anything is written, and calls owners_changed() if `owns` is no longer so.
    std::function<void()> confirm = [] {};
    std::string domain = "cluster.local";
    bool shadow = false;
  };

  /// All of `place` and `listener` outlive this.
  KnativeScalers(const KnativeView::Place& place, model::Listener& listener, Rules rules);

  void start();

  /// Rules::owns answers otherwise now.
  void owners_changed();

  void config_changed(const ClusterConfig& config);

  /// A RequestScaler of that name has come: the revision is no longer scaled here.
  void yield(const RevisionId& id) { drop(id, false); }

  /// It has gone: the revision is scaled here again, if it is one of ours.
  void take_back(const RevisionId& id);

  /// Whether this replica scales, or shadows, that revision.
  [[nodiscard]] bool governs(const RevisionId& id) const { return governed_.contains(id); }

  /// Whether some replica of ours scales it. Never as a shadow.
  [[nodiscard]] bool scales(const RevisionId& id) const;

  // ScaleSink, of revisions that it governs.
  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& id) const;
  void apply(const RevisionId& id, const ScaleOrder& order);
  void forget(const RevisionId& id);
  void probe(const RevisionId& id, std::function<void(bool ok)> done);

  /// Collections that are not followed though Knative is there.
  [[nodiscard]] std::vector<std::string> wrong() const;

  [[nodiscard]] const ShadowBook& shadow() const { return shadow_; }

  void write_metrics(std::string& out) const;

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

  boost::asio::io_context& io_;
  const Clock& clock_;
  const log::Logger& log_;
  model::Listener& listener_;
  Rules rules_;
  ClusterConfig config_;
  std::map<RevisionId, Governed> governed_;
  AsioLoop time_;
  ReconcileLoop loop_;
  ShadowBook shadow_;
  ObjectWriter writer_;
  PublicProbe probe_;
  KnativeView view_;
  kube::GroupPresence presence_;  // the view is started by it
};

}  // namespace sluice::autoscaler
