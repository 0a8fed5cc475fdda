#pragma once

#include "platform/kubernetes/activator/core/by_revision.h"
#include "platform/kubernetes/activator/core/cluster_revision.h"
#include "platform/kubernetes/activator/core/pod_selections.h"
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sluice::activator {

/// From the objects of a cluster, passed in one by one in any order, to revisions with their pods
/// and to the activators there are. A revision exists as long as its RequestScaler does, or
/// Knative's object; of one name the RequestScaler wins. Its pods are
///
///     RequestScaler ── private Service ── selector ──▶ pods with a sidecar
///     Knative's Revision ── private EndpointSlices ──▶ addresses
///
/// A pod is reported as soon as it has an address: an EndpointSlice shows it one controller later,
/// and there a cold start would wait for it.
class ClusterView {
 public:
  void set_scaler(const RevisionId& id, ServingSpec spec);
  void drop_scaler(const RevisionId& id);

  void set_selection(const ClusterName& service, PodSelection selection);
  void drop_selection(const ClusterName& service);
  void set_pod(const ClusterName& name, ClusterPod pod);
  void drop_pod(const ClusterName& name);

  void set_knative(const RevisionId& id, ServingSpec spec);
  void drop_knative(const RevisionId& id);

  /// What all of Knative's revisions follow from now on.
  void set_knative_contract(settings::KnativeContract contract);
  void set_private_slice(const ClusterName& name, ClusterSlice slice);
  void drop_private_slice(const ClusterName& name);

  /// Where a mesh or the network blocks connections to pods, requests go there.
  void set_private_service(const ClusterName& name, PrivateService service);
  void drop_private_service(const ClusterName& name);

  /// Of a revision's public service: the addresses of activators, or of pods, to which it leads.
  /// Several activators share the pods of a revision by their places among these
  /// (activator.md 5.6).
  void set_public_slice(const ClusterName& name, ClusterSlice slice);
  void drop_public_slice(const ClusterName& name);

  /// Of the Service of the activators.
  void set_activator_slice(const ClusterName& name, ClusterSlice slice);
  void drop_activator_slice(const ClusterName& name);

  /// What is new since the last call.
  struct Changes {
    std::vector<ClusterRevision> revisions;  ///< new or different, by id
    std::vector<RevisionId> gone;
    /// Those that are ready, sorted; absent: as before.
    std::optional<std::vector<ClusterAddress>> activators;
  };

  [[nodiscard]] Changes settle();

  [[nodiscard]] std::size_t revisions() const { return told_.size(); }

  [[nodiscard]] std::size_t pods() const { return selections_.pods(); }

 private:
  using Specs = std::map<RevisionId, ServingSpec>;

  void set(Specs& specs, const RevisionId& id, ServingSpec spec);
  void drop(Specs& specs, const RevisionId& id);
  [[nodiscard]] std::optional<std::vector<ClusterAddress>> settle_activators();
  void settle_fronts(bool all);
  [[nodiscard]] std::optional<ServiceAddress> service(const RevisionId& id, bool h2c) const;
  [[nodiscard]] std::optional<ClusterRevision> revision(const RevisionId& id) const;
  [[nodiscard]] std::vector<ReachablePod> knative_pods(const RevisionId& id,
                                                       const ServingSpec& spec) const;

  Specs scalers_;
  Specs knatives_;
  settings::KnativeContract knative_contract_ = settings::KnativeContract::current;
  PodSelections selections_;
  ByRevision<ClusterSlice> private_slices_;
  ByRevision<PrivateService> private_services_;
  std::map<ClusterName, ClusterSlice> activator_slices_;
  std::vector<ClusterAddress> activators_;
  ByRevision<ClusterSlice> public_slices_;
  std::map<RevisionId, std::vector<std::string>> fronts_;  // activators among them
  std::set<RevisionId> fronts_changed_;                    // perhaps
  std::set<RevisionId> changed_;
  std::set<RevisionId> told_;
};

}  // namespace sluice::activator
