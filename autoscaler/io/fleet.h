#pragma once

#include "autoscaler/core/activator_hub.h"
#include "autoscaler/core/annotations.h"
#include "autoscaler/core/cluster_config.h"
#include "autoscaler/core/hand_over_state.h"
#include "autoscaler/io/pod_watch.h"
#include "autoscaler/io/revision.h"
#include "common/messages/hand_over.h"
#include "common/messages/stat.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// All revisions that this replica governs: what the platform says goes to them, and so does what
/// activators report.
class Fleet final : public PodWatchListener {
 public:
  using Revisions = std::map<RevisionId, std::unique_ptr<Revision>>;

  /// `surroundings` outlives this.
  explicit Fleet(Surroundings& surroundings) : around_{surroundings} {}

  void on_revision(WatchedRevision revision) override;
  void on_revision_gone(const RevisionId& revision) override;
  void on_revision_released(const RevisionId& revision) override;
  [[nodiscard]] std::optional<Problem> on_config(const StringMap& config) override;

  /// What an activator said on its stream.
  void heard(const ActivatorHub::Heard& heard);

  /// A frame of stats that came over WebSocket.
  void pushed(std::span<const proto::StatMessage> messages);

  /// All that the next owner of each revision would not know (autoscaler.md 16.3).
  [[nodiscard]] std::vector<proto::HandedRevision> handed() const;

  /// What the previous owner of some revisions knew of them; `ours` says which are ours now. One
  /// that the platform has not told of yet is kept for when it does.
  [[nodiscard]] proto::TakeReply take_handed(proto::TakeRequest request,
                                             const std::function<bool(const RevisionId&)>& ours);

  /// The book of nodes answers otherwise now.
  void nodes_changed();

  [[nodiscard]] const Revisions& revisions() const { return revisions_; }

  [[nodiscard]] const ClusterConfig& config() const { return config_; }

 private:
  [[nodiscard]] Revision* find(const RevisionId& id) const;
  [[nodiscard]] ScalingSpec spec_of(const WatchedRevision& revision, bool tell) const;
  bool drop(const RevisionId& revision);
  void take_over(const RevisionId& revision);

  Surroundings& around_;
  ClusterConfig config_;
  Revisions revisions_;
  HandOverInbox inbox_;
};

}  // namespace sluice::autoscaler
