#include "autoscaler/placement/core/node_gates.h"

#include "autoscaler/placement/core/words.h"
#include "common/messages/node_stream.h"
#include "common/messages/start_gate.h"

#include <algorithm>
#include <limits>

namespace sluice::placement {
namespace {

Resources capacity_of(std::int64_t admit) {
  Resources capacity = kAnything;
  if (admit < NodeGates::kNoGate) capacity.memory = std::max<std::int64_t>(0, admit);
  return capacity;
}

}  // namespace

NodeGates::NodeGates() : home_{ledger_.add_place({.name = "home"})} {}

void NodeGates::report(const std::string& node, std::int64_t admit) {
  const auto known = gates_.find(node);
  if (known == gates_.end()) {
    const NodeId id =
        ledger_.add_node({.name = node, .place = home_, .capacity = capacity_of(admit)});
    gates_.emplace(node, Gate{.id = id, .admit = admit});
    return;
  }
  Gate& gate = known->second;
  if (gate.admit == admit) return;
  gate.admit = admit;
  Node changed = ledger_.node(gate.id);
  changed.capacity = capacity_of(admit);
  ledger_.update_node(gate.id, std::move(changed));
}

void NodeGates::drop(const std::string& node) {
  const auto known = gates_.find(node);
  if (known == gates_.end()) return;
  const NodeId id = known->second.id;
  std::erase_if(resting_, [id](const Rest& each) { return each.node == id; });
  ledger_.remove_node(id);
  gates_.erase(known);
}

std::optional<std::int64_t> NodeGates::admitted(std::string_view node) const {
  const auto known = gates_.find(node);
  return known == gates_.end() ? std::nullopt : std::optional{known->second.admit};
}

std::optional<NodeId> NodeGates::find(std::string_view node) const {
  const auto known = gates_.find(node);
  return known == gates_.end() ? std::nullopt : std::optional{known->second.id};
}

Site::Terms NodeGates::terms(const RevisionId& /*revision*/, const RevisionDemand& demand,
                             std::int64_t /*held*/) {
  Terms terms{.most = demand.wanted, .there = demand.wanted};
  if (gates_.empty()) return terms;
  wake(demand.now);
  // One that already runs is not a start, whichever replica of the autoscaler ordered it.
  const auto settled =
      std::count_if(demand.replicas.begin(), demand.replicas.end(),
                    [](const ReplicaAt& each) { return each.settled && !each.leaving; });
  terms.there =
      std::min(demand.wanted, std::max(demand.ordered, static_cast<std::int32_t>(settled)));
  terms.now = demand.wanted - terms.there;
  return terms;
}

GateAnswer NodeGates::may_start(const RevisionId& /*revision*/, std::int32_t /*nth*/,
                                NodeId /*node*/, const Resources& /*each*/, TimePoint /*now*/) {
  return {};
}

std::int64_t NodeGates::on_start(NodeId node, TimePoint now) {
  if (ledger_.node(node).capacity.memory == kUnbounded) {
    return std::numeric_limits<std::int32_t>::max();
  }
  set_pressure(node, Pressure::high);
  resting_.push_back({.node = node, .from = now});
  return 0;
}

// A clock that steps back ends every rest.
void NodeGates::wake(TimePoint now) {
  while (!resting_.empty()) {
    const Rest& first = resting_.front();
    if (now >= first.from && now - first.from < kStartSpacing) return;
    set_pressure(first.node, Pressure::ok);
    resting_.pop_front();
  }
}

void NodeGates::set_pressure(NodeId node, Pressure pressure) {
  Node changed = ledger_.node(node);
  changed.pressure = pressure;
  ledger_.update_node(node, std::move(changed));
}

std::optional<TimePoint> NodeGates::rested(const Resources& each) const {
  for (const Rest& rest : resting_) {
    if (fits(each, ledger_.free(rest.node))) return rest.from + kStartSpacing;
  }
  return std::nullopt;
}

void NodeGates::explain(const RevisionId& /*revision*/, const RevisionDemand& demand,
                        const Refusal& /*refusal*/, Missing& missing) {
  std::int64_t free = std::max<std::int64_t>(0, ledger_.largest_hole(home_).memory);
  for (const Rest& rest : resting_) free = std::max(free, ledger_.free(rest.node).memory);
  missing.reason = Reason::gate;
  missing.detail = memory_shortage(free, demand.each.memory);
  missing.fix = "free memory, or add a node";
  missing.retry_after = proto::kReportInterval;
}

}  // namespace sluice::placement
