#pragma once

#include "autoscaler/core/activators/activator_hub.h"
#include "autoscaler/io/revision.h"
#include "common/messages/stat.h"
#include "common/model/revision.h"
#include "common/scaling/annotations.h"
#include "common/scaling/cluster_config.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// All revisions that this replica governs: the platform's reports go to them, and so does what
/// activators report.
class Fleet final : public model::Listener {
 public:
  using Revisions = std::map<RevisionId, std::unique_ptr<Revision>>;

  /// `surroundings` outlives this.
  explicit Fleet(Surroundings& surroundings) : around_{surroundings} {}

  void on_revision(model::Revision revision) override;
  void on_revision_gone(const RevisionId& revision) override;
  void on_revision_released(const RevisionId& revision) override;
  [[nodiscard]] std::optional<Problem> on_config(const StringMap& config) override;

  /// What an activator said on its stream.
  void heard(const ActivatorHub::Heard& heard);

  /// A frame of stats that came over WebSocket.
  void pushed(std::span<const proto::StatMessage> messages);

  /// For the recording of a revision: a start has been seen to its end.
  void note_cold_start(const RevisionId& id, const proto::ColdStart& took);

  /// The room answers otherwise now.
  void room_changed();

  [[nodiscard]] const Revisions& revisions() const { return revisions_; }

  /// Those in service, in the order of their ids. One that only drains is no service of its own:
  /// its replicas stand with the one that took its place.
  [[nodiscard]] const std::vector<const Revision*>& serving() const { return serving_; }

  /// All of a service, in the order of their ids.
  [[nodiscard]] const std::vector<Revision*>& of_service(const std::string& space,
                                                         const std::string& service) const;

  [[nodiscard]] const ClusterConfig& config() const { return config_; }

 private:
  [[nodiscard]] Revision* find(const RevisionId& id) const;
  [[nodiscard]] ResolvedScaling spec_of(const model::Revision& revision, bool tell) const;
  bool drop(const RevisionId& revision, std::string_view what);
  void list(Revision& revision);
  void unlist(const RevisionId& id, const std::string& service, bool in_service);

  Surroundings& around_;
  ClusterConfig config_;
  Revisions revisions_;
  std::vector<const Revision*> serving_;
  std::map<std::pair<std::string, std::string>, std::vector<Revision*>> by_service_;
};

}  // namespace sluice::autoscaler
