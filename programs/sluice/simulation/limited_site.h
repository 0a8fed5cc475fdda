#pragma once

#include "autoscaler/placement/core/node_gates.h"

#include <cstdint>
#include <optional>

namespace sluice::simulation {

/// One place with room for everything, until its replicas are limited.
class LimitedSite final : public placement::Site {
 public:
  /// No more replicas are started than there are so many; what is there stays. Absent: no limit.
  void limit(std::optional<std::int32_t> replicas) { limit_ = replicas; }

  [[nodiscard]] placement::Ledger& ledger() override { return gates_.ledger(); }

  [[nodiscard]] std::optional<placement::NodeId> find(std::string_view node) const override {
    return gates_.find(node);
  }

  [[nodiscard]] bool reports_settled() const override { return gates_.reports_settled(); }

  [[nodiscard]] Terms terms(const RevisionId& revision, const placement::RevisionDemand& demand,
                            std::int64_t held) override;

  [[nodiscard]] GateAnswer may_start(const RevisionId& revision, std::int32_t nth,
                                     placement::NodeId node, const placement::Resources& each,
                                     TimePoint now) override {
    return gates_.may_start(revision, nth, node, each, now);
  }

  [[nodiscard]] std::int64_t on_start(placement::NodeId node, TimePoint now) override {
    return gates_.on_start(node, now);
  }

  [[nodiscard]] std::optional<TimePoint> rested(const placement::Resources& each) const override {
    return gates_.rested(each);
  }

  void explain(const RevisionId& revision, const placement::RevisionDemand& demand,
               const placement::Refusal& refusal, placement::Missing& missing) override {
    gates_.explain(revision, demand, refusal, missing);
  }

 private:
  placement::NodeGates gates_;  // none: everything is granted
  std::optional<std::int32_t> limit_;
};

}  // namespace sluice::simulation
