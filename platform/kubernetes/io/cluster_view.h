#pragma once

#include "common/base/ids.h"
#include "common/kube/group_presence.h"
#include "common/kube/request_scaler.h"
#include "common/log/log.h"
#include "common/scaling/cluster_config.h"

#include "platform/kubernetes/core/ownership_index.h"
#include "platform/kubernetes/core/selector_index.h"
#include "platform/kubernetes/core/trouble.h"
#include "platform/kubernetes/io/cluster_objects.h"
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// The objects that scaling uses, as the API server reports them, and which scaler each object
/// concerns. An event costs what its scaler costs, however many others there are.
class ClusterView {
 public:
  struct Events {
    std::function<void(const RevisionId&)> touched;     ///< something of this scaler is new
    std::function<void(const RevisionId&)> gone;        ///< the scaler is deleted
    std::function<void(const std::string& path)> seen;  ///< an object that we write has changed
    std::function<void()> activators;                   ///< others are ready now
    std::function<void(const StringMap&)> config;
    std::function<void()> synced;  ///< once: everything there is is known, others' scalers too
  };

  using Pods = std::vector<std::pair<std::string, const kube::Pod*>>;
  using Services = std::vector<std::pair<kube::ObjectName, const kube::Service*>>;
  using Slices = std::vector<std::pair<std::string, const kube::EndpointSlice*>>;

  /// `objects` outlives the view, and is started beside it. `system_space`: where our own programs
  /// live.
  ClusterView(const kube::Place& at, ClusterObjects& objects, const std::string& system_space,
              Events events);

  void start();

  [[nodiscard]] bool synced() const { return synced_; }

  /// If only the list of other scalers is still missing, continues without it: a start has waited
  /// enough.
  void do_without_others();

  /// Kinds that the API server refuses to list, or does not have.
  [[nodiscard]] std::optional<Trouble> trouble() const;

  /// Collections that are not followed right now, and why.
  [[nodiscard]] std::vector<std::string> wrong() const;

  [[nodiscard]] const std::map<kube::ObjectName, kube::RequestScaler>& scalers() const {
    return scalers_.all();
  }

  [[nodiscard]] const kube::RequestScaler* scaler(const RevisionId& id) const;
  [[nodiscard]] const kube::Workload* target(const RevisionId& id) const;
  [[nodiscard]] const kube::Service* service(const kube::ObjectName& name) const;
  [[nodiscard]] Pods pods(const RevisionId& id) const;
  [[nodiscard]] Slices slices(const RevisionId& id) const;

  /// Services marked as taken over by this scaler.
  [[nodiscard]] std::set<kube::ObjectName> adopted(const RevisionId& id) const {
    return adoptions_.of(id);
  }

  /// The node of a pod; empty: it has none yet. Absent: no such pod is known.
  [[nodiscard]] std::optional<std::string> node_of(const kube::ObjectName& pod) const;

  /// IPs of activators that are ready.
  [[nodiscard]] std::set<std::string> activators() const;

  /// Another scaler of the same target, as text; absent: none.
  [[nodiscard]] std::optional<std::string> other_scaler(const RevisionId& id) const;

  /// The scaler that has the same public Service, or target, and whose name comes before.
  [[nodiscard]] std::optional<RevisionId> service_rival(const RevisionId& id) const;
  [[nodiscard]] std::optional<RevisionId> target_rival(const RevisionId& id) const;

 private:
  // A kind and the coordinates of an object of it.
  using TargetKey = std::pair<std::string, kube::ObjectName>;

  struct Links {
    TargetKey target;
    kube::ObjectName front;
    kube::ObjectName pods;
  };

  void on_scaler(const kube::ObjectName& name, const kube::RequestScaler& scaler);
  void on_scaler_gone(const kube::ObjectName& name);
  void link(const RevisionId& id, const kube::RequestScaler& scaler);
  void unlink(const RevisionId& id);
  void on_target(const char* kind, const kube::ObjectName& name);
  void follow_selector(const RevisionId& id);
  void forget_pods(const RevisionId& id);
  void on_pod(const kube::ObjectName& name, const kube::Pod* pod);
  void on_service(const kube::ObjectName& name, const kube::Service* service);
  void on_slice(const kube::ObjectName& name, const kube::EndpointSlice* slice);
  void on_other(const std::string& what, const kube::ObjectName& name,
                const kube::OtherScaler* other);
  void on_synced();
  void touch_sharers(const Links& links) const;
  void touch_all(const std::set<RevisionId>& ids) const;

  template <class T>
  using Informer = kube::Informer<T>;

  template <class T>
  [[nodiscard]] typename Informer<T>::Events followed(
      std::function<void(const kube::ObjectName&, const T*)> tell);

  [[nodiscard]] FollowedStates needed() const;
  [[nodiscard]] FollowedStates others_awaited() const;

  ClusterObjects& objects_;
  Events events_;
  bool synced_ = false;
  bool others_wanted_ = true;  // or a target that another scaler owns could be written
  std::map<RevisionId, Links> links_;
  std::map<TargetKey, std::set<RevisionId>> by_target_;
  std::map<kube::ObjectName, std::set<RevisionId>> by_service_;
  OwnershipIndex adoptions_;
  OwnershipIndex slice_owners_;
  SelectorIndex selectors_;
  std::map<kube::ObjectName, std::vector<RevisionId>> homes_;  // of pods
  std::map<RevisionId, std::set<std::string>> pods_of_;
  std::map<TargetKey, std::set<std::string>> others_;  // in words
  std::map<std::string, TargetKey> other_targets_;     // by those words

  Informer<kube::RequestScaler> scalers_;
  Informer<kube::Workload> stateful_sets_;
  Informer<kube::Pod> pods_;
  Informer<kube::EndpointSlice> slices_;
  Informer<kube::EndpointSlice> activators_;
  Informer<kube::OtherScaler> hpas_;
  kube::GroupPresence keda_presence_;  // the next is started by it
  Informer<kube::OtherScaler> keda_;
  Informer<kube::StringMap> config_;
};

}  // namespace sluice::autoscaler
