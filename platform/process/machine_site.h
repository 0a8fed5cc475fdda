#pragma once

#include "autoscaler/placement/core/grant.h"
#include "autoscaler/placement/core/ledger.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include "platform/process/process_revision.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// One machine as a site of placement. Its places are the groups of `config.yaml`, of one node
/// each; without any, the whole machine is the one place, `local`. `max-replicas` bounds all of
/// them together, and the memory rules are the gate of each.
class MachineSite final : public placement::Site {
 public:
  /// Null: there is no such revision.
  using Find = std::function<ProcessRevision*(const RevisionId&)>;

  /// `settings` outlives this.
  MachineSite(const EngineSettings& settings, Find find);

  [[nodiscard]] placement::Ledger& ledger() override { return ledger_; }

  /// A group by itself has limits, too, which its replicas are started within.
  [[nodiscard]] bool names_only_place() const override { return has_groups(); }

  /// Removes a place in which nothing is, not the last one.
  void remove(std::string_view place);

  [[nodiscard]] std::optional<placement::NodeId> find(std::string_view node) const override;

  [[nodiscard]] bool reports_settled() const override { return false; }

  [[nodiscard]] Terms terms(const RevisionId& revision, const placement::RevisionDemand& demand,
                            std::int64_t held) override;
  [[nodiscard]] GateAnswer may_start(const RevisionId& revision, std::int32_t nth,
                                     placement::NodeId node, const placement::Resources& each,
                                     TimePoint now) override;

  [[nodiscard]] std::int64_t on_start(placement::NodeId /*node*/, TimePoint /*now*/) override {
    return 0;
  }

  [[nodiscard]] std::optional<TimePoint> rested(
      const placement::Resources& /*each*/) const override {
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t spare() const override { return settings_.max_replicas - replicas(); }

  [[nodiscard]] std::string spare_bound() const override;

  void explain(const RevisionId& revision, const placement::RevisionDemand& demand,
               const placement::Refusal& refusal, placement::Missing& missing) override;

 private:
  [[nodiscard]] bool has_groups() const { return nodes_.size() > 1 || !settings_.groups.empty(); }

  [[nodiscard]] std::int64_t replicas() const;

  const EngineSettings& settings_;
  Find find_;
  placement::Ledger ledger_;
  std::vector<placement::NodeId> nodes_;  // one of each place
};

}  // namespace sluice::local
