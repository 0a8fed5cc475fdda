#pragma once

#include "autoscaler/io/platform.h"
#include "common/kube/access.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/settings/env_reader.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "platform/knative/io/knative_scalers.h"
#include "platform/kubernetes/io/reconciler.h"
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Who we are in the cluster.
struct KubernetesSelf {
  std::string pod;                       ///< POD_NAME
  std::string address;                   ///< POD_IP
  std::string system_space;              ///< SYSTEM_NAMESPACE
  std::string domain = "cluster.local";  ///< of the cluster
  bool shadow = false;  ///< only revisions of Knative are looked at, and nothing is written
};

/// Deployments and StatefulSets of a cluster, each named by a RequestScaler, as a platform: what
/// runs comes from watches, orders become writes (protocols.md 8). An API server that is away or
/// slow delays writes and news; everything else goes on with what is known.
class KubernetesPlatform final : public Platform {
 public:
  /// How long the start waits for the API server.
  static constexpr Duration kStartPatience = std::chrono::seconds{10};

  /// All references outlive this. `environment` says how the API server is reached.
  KubernetesPlatform(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
                     const log::Logger& log, KubernetesSelf self,
                     settings::Environment environment);
  ~KubernetesPlatform() override;

  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;
  [[nodiscard]] std::vector<std::string> wrong() const override;
  [[nodiscard]] std::vector<HealthCheck> checks() const override;
  void write_metrics(std::string& out) const override;

  /// The buckets of all replicas, and those that are ours: scalers in others are somebody else's.
  /// Whoever listens is told at once of those that are lost, and soon of those that are new.
  void set_owned(std::vector<std::string> all, std::set<std::string> owned);

  /// Whether some replica of ours scales that revision.
  [[nodiscard]] bool scales(const RevisionId& id) const;

  /// Whether a stat from Knative's activators may be about it: never about a RequestScaler's.
  [[nodiscard]] bool is_knative(const RevisionId& id) const;

  /// The node of a pod; empty: it has none yet. Absent: no such pod is known.
  [[nodiscard]] std::optional<std::string> node_of(const std::string& space,
                                                   const std::string& pod) const;

  /// Called before anything is written, and calls set_owned() if that is less by now: a program
  /// that was stopped for a while acts on what it is told before its timers tell it so.
  void confirm_by(std::function<void()> confirm) { confirm_ = std::move(confirm); }

  /// For leases: the one client of this program; null before open() and when that failed.
  [[nodiscard]] kube::Client* client() { return client_.get(); }

 private:
  [[nodiscard]] bool owns(const RevisionId& id) const;
  [[nodiscard]] bool in_owned_bucket(const RevisionId& id) const;
  void follow(model::Listener& listener);
  void follow_knative(model::Listener& listener);
  void touched(const RevisionId& id);
  void gone(const RevisionId& id);
  void config_changed(const StringMap& data);
  void synced();
  void settle(std::optional<Problem> problem);
  void wait_for_view();
  void look(const RevisionId& id);
  void tell(const ScalerSight& sight, GovernedScaler& governed);
  void send_event();

  boost::asio::io_context& io_;
  const Clock& clock_;
  AsioLoop time_;
  std::mt19937_64& random_;
  const log::Logger& log_;
  KubernetesSelf self_;
  settings::Environment environment_;
  std::vector<std::string> buckets_;
  std::set<std::string> owned_;
  std::function<void()> confirm_;
  model::Listener* listener_ = nullptr;  // of open()
  Settled settled_;
  ClusterConfig config_;
  std::string wrong_config_;
  std::map<RevisionId, GovernedScaler> governed_;
  ActivatorPorts ports_;
  ReconcileLoop loop_;
  EventLog events_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ObjectWriter> writer_;
  std::unique_ptr<ActivatorProbes> probes_;
  std::unique_ptr<ClusterView> view_;
  std::unique_ptr<Reconciler> reconciler_;
  std::unique_ptr<KnativeScalers> knative_;
  boost::asio::steady_timer start_timer_;
};

}  // namespace sluice::autoscaler
