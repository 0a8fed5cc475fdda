#pragma once

#include "autoscaler/placement/core/grant.h"
#include "autoscaler/placement/core/words.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::placement {

/// Places of one node each, where everything starts that the ledger has room for, unless the gate
/// is shut.
class Groups final : public Site {
 public:
  /// A place with a node of its name.
  void add(const std::string& name, std::int32_t preference, const Resources& capacity) {
    const PlaceId place = ledger_.add_place({.name = name, .preference = preference});
    nodes_.push_back(ledger_.add_node({.name = name, .place = place, .capacity = capacity}));
  }

  Ledger& ledger() override { return ledger_; }

  [[nodiscard]] std::optional<NodeId> find(std::string_view node) const override {
    for (const NodeId each : nodes_) {
      if (ledger_.node(each).name == node) return each;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool reports_settled() const override { return false; }

  Terms terms(const RevisionId& /*revision*/, const RevisionDemand& demand,
              std::int64_t /*held*/) override {
    const auto live = std::count_if(demand.replicas.begin(), demand.replicas.end(),
                                    [](const ReplicaAt& each) { return !each.leaving; });
    const auto there = static_cast<std::int32_t>(live);
    return {.most = demand.wanted, .there = there, .now = std::max(0, demand.wanted - there)};
  }

  GateAnswer may_start(const RevisionId& /*revision*/, std::int32_t /*nth*/, NodeId /*node*/,
                       const Resources& need, TimePoint /*now*/) override {
    return {.granted = gate_open, .shared = true, .free = 0, .claim = need.memory};
  }

  std::int64_t on_start(NodeId /*node*/, TimePoint /*now*/) override { return 0; }

  [[nodiscard]] std::optional<TimePoint> rested(const Resources& /*each*/) const override {
    return std::nullopt;
  }

  void explain(const RevisionId& /*revision*/, const RevisionDemand& demand,
               const Refusal& /*refusal*/, Missing& missing) override {
    const model::PlacementWish wish =
        demand.wish == nullptr ? model::PlacementWish{} : *demand.wish;
    const PlaceOrder order{ledger_, wish};
    missing.detail = why_no_node(
        ledger_, {.need = demand.each, .order = &order, .max_per_node = wish.max_per_node}, wish,
        {});
  }

  bool gate_open = true;  ///< whether replicas may start

 private:
  Ledger ledger_;
  std::vector<NodeId> nodes_;
};

}  // namespace sluice::placement
