#pragma once

#include "common/model/revision.h"

#include "platform/knative/core/knative_objects.h"
#include "platform/knative/core/pod_autoscaler_plan.h"
#include "platform/kubernetes/io/cluster_objects.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Knative's revisions as the API server reports them. A PodAutoscaler, its ServerlessService and
/// its revision share one name; pods and Deployments carry it as a label.
class KnativeView {
 public:
  struct Events {
    std::function<void(const RevisionId&)> touched;     ///< something of this revision is new
    std::function<void(const RevisionId&)> gone;        ///< its PodAutoscaler is deleted
    std::function<void(const std::string& path)> seen;  ///< an object that we write has changed
    std::function<void()> synced;                       ///< once: everything there is is known
  };

  /// `objects` outlives the view, and is started beside it. `domain`: of the cluster.
  KnativeView(const kube::Place& at, ClusterObjects& objects, std::string domain, Events events);

  void start();

  [[nodiscard]] bool synced() const { return synced_; }

  /// Collections that are not followed right now, and why.
  [[nodiscard]] std::vector<std::string> wrong() const { return not_followed(states()); }

  [[nodiscard]] const std::map<kube::ObjectName, PodAutoscaler>& objects() const {
    return objects_.all();
  }

  [[nodiscard]] const PodAutoscaler* object(const RevisionId& id) const;

  /// Null where there is none, or where the target is of a kind that is not followed.
  [[nodiscard]] const kube::Workload* target(const RevisionId& id) const;
  [[nodiscard]] const ServerlessObject* serverless(const RevisionId& id) const;

  /// Of its public Service; empty: not known.
  [[nodiscard]] std::string cluster_ip(const RevisionId& id) const;

  /// The revision as the scaler uses it. `id` has a PodAutoscaler.
  [[nodiscard]] model::Revision watched(const RevisionId& id) const;

  [[nodiscard]] std::int32_t ready_pods(const RevisionId& id) const;

 private:
  void on_deployment(const kube::ObjectName& name, const kube::Workload& deployment);
  void on_pod(const kube::ObjectName& name, const kube::Pod& pod, bool there);
  void on_synced();
  void touch(const RevisionId& id) const;
  [[nodiscard]] FollowedStates states() const;

  template <class T>
  using Informer = kube::Informer<T>;

  template <class T>
  [[nodiscard]] typename Informer<T>::Events followed(
      std::function<void(const kube::ObjectName&, const T&, bool there)> tell);

  ClusterObjects& objects_of_both_;
  std::string domain_;
  Events events_;
  bool synced_ = false;
  std::map<RevisionId, std::set<std::string>> pods_of_;
  Informer<PodAutoscaler> objects_;
  Informer<ServerlessObject> serverless_;
  Informer<kube::Pod> pods_;
};

/// The same for values: `pods` are those of the revision, `domain` is the cluster's. How addresses
/// are made: autoscaler.md 9.
[[nodiscard]] model::Revision watched_revision(
    const RevisionId& id, const PodAutoscaler& object, const ServerlessObject* serverless,
    const std::vector<std::pair<std::string, const kube::Pod*>>& pods, const std::string& domain);

/// Where a Deployment is; empty for any other kind.
[[nodiscard]] std::string target_path(const RevisionId& id, const KnativeTarget& target);

}  // namespace sluice::autoscaler
