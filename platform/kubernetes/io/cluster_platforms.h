#pragma once

#include "autoscaler/io/platform.h"
#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/loop/asio_loop.h"
#include "common/settings/reader.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>

#include "platform/knative/io/knative_platform.h"
#include "platform/kubernetes/io/kubernetes_platform.h"
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Who we are in the cluster.
struct ClusterSelf {
  std::string pod;                       ///< POD_NAME
  std::string system_space;              ///< SYSTEM_NAMESPACE
  std::string domain = "cluster.local";  ///< of the cluster
  bool shadow = false;  ///< only revisions of Knative are looked at, and nothing is written
};

/// The platforms of one cluster as one: RequestScalers, and PodAutoscalers of an installed Knative.
/// Each revision is scaled by the platform that governs it; of one name the RequestScaler wins.
/// Here is what both share: the client, config-autoscaler, and which buckets are ours.
class ClusterPlatforms final : public Platform {
 public:
  /// How long the start waits for the API server.
  static constexpr Duration kStartPatience = std::chrono::seconds{10};

  /// All references outlive this. `environment` has the address of the API server and the
  /// credentials.
  ClusterPlatforms(boost::asio::io_context& io, const Clock& clock, std::mt19937_64& random,
                   const log::Logger& log, ClusterSelf self, settings::Environment environment);

  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;

  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& id) override {
    return of(id).last(id);
  }

  void apply(const RevisionId& id, const ScaleOrder& order) override { of(id).apply(id, order); }

  void forget(const RevisionId& id) override { of(id).forget(id); }

  void probe(const RevisionId& id, std::function<void(bool ok)> done) override {
    of(id).probe(id, std::move(done));
  }

  [[nodiscard]] std::vector<std::string> wrong() const override;
  [[nodiscard]] std::vector<HealthCheck> checks() const override;
  void write_metrics(metrics::Families& families) const override;

  /// The buckets of all replicas, and those that are ours: another replica scales what is in the
  /// others. The listener gets lost revisions at once, and new ones soon.
  void set_owned(std::vector<std::string> all, std::set<std::string> owned);

  /// Whether some replica of ours scales that revision.
  [[nodiscard]] bool scales(const RevisionId& id) const;

  /// Whether a stat from Knative's activators may be about it: never about a RequestScaler's.
  [[nodiscard]] bool is_knative(const RevisionId& id) const;

  /// The node of a pod; empty: it has none yet. Absent: no such pod is known.
  [[nodiscard]] std::optional<std::string> node_of(const std::string& space,
                                                   const std::string& pod) const;

  /// Called before anything is written, and calls set_owned() if that is less by now: a program
  /// that was stopped for a while finds what it has lost before its timers run.
  void confirm_by(std::function<void()> confirm) { confirm_ = std::move(confirm); }

  /// For leases: the one client of this program; null before open() and when that failed.
  [[nodiscard]] kube::Client* client() { return client_.get(); }

 private:
  [[nodiscard]] Platform& of(const RevisionId& id);
  [[nodiscard]] bool in_owned_bucket(const RevisionId& id) const;
  [[nodiscard]] ClusterGround ground(std::function<bool(const RevisionId&)> owns);
  void make_platforms();
  void config_changed(const StringMap& data);
  void known();
  void settle(std::optional<Problem> problem);
  void wait_until_known();

  boost::asio::io_context& io_;
  const Clock& clock_;
  std::mt19937_64& random_;
  const log::Logger& log_;
  AsioLoop loop_;
  ClusterSelf self_;
  settings::Environment environment_;
  std::vector<std::string> buckets_;
  std::set<std::string> owned_;
  std::function<void()> confirm_ = [] {};
  model::Listener* listener_ = nullptr;  // of open()
  Settled settled_;
  ClusterConfig config_;
  std::string wrong_config_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ClusterObjects> objects_;
  std::unique_ptr<KubernetesPlatform> kubernetes_;
  std::unique_ptr<KnativePlatform> knative_;
  std::unique_ptr<Timer> start_timer_;
};

}  // namespace sluice::autoscaler
