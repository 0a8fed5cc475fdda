#pragma once

#include "platform/kubernetes/activator/core/cluster_revision.h"
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::activator {

/// Which pods belong to which revision, by the selectors of the private services. A pod that
/// changes costs its labels and its revisions, whatever else there is; selectors that change are
/// matched against the pods of their namespace together, at the next settle().
class PodSelections {
 public:
  /// `name`: of the private service.
  void set_selection(const ClusterName& name, PodSelection selection);
  void drop_selection(const ClusterName& name);

  void set_pod(const ClusterName& name, ClusterPod pod);
  void drop_pod(const ClusterName& name);

  /// Matches what is new, and gives the revisions whose pods have changed,
  /// than at the last call.
  [[nodiscard]] std::set<RevisionId> settle();

  /// Those that can be dialled, by name; as of the last settle().
  [[nodiscard]] std::vector<ReachablePod> pods(const RevisionId& revision) const;

  [[nodiscard]] std::size_t pods() const { return pods_; }

 private:
  struct Seen {
    ClusterPod pod;
    std::vector<RevisionId> of;  // sorted
  };

  using Pods = std::map<std::string, Seen, std::less<>>;

  struct Space {
    Pods pods;
    std::map<std::string, PodSelection, std::less<>> selections;  // by service
    // By one label that it requires, so that a pod looks at few of them.
    std::unordered_map<std::string, std::vector<const PodSelection*>> by_label;
    bool stale = false;  // selections have changed; then it is in stale_
  };

  void outdate(const std::string& name, Space& space);
  static void index(Space& space);
  [[nodiscard]] static std::vector<RevisionId> revisions_of(const Space& space,
                                                            const Labels& labels);
  void place(const std::string& name, Seen& seen, std::vector<RevisionId> of);

  std::map<std::string, Space, std::less<>> spaces_;
  std::map<RevisionId, std::map<std::string, const ClusterPod*>> members_;
  std::vector<std::string> stale_;  // names of spaces
  std::set<RevisionId> changed_;
  std::size_t pods_ = 0;
};

}  // namespace sluice::activator
