#include "platform/process/machine_site.h"

#include "autoscaler/placement/core/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::local {
namespace {

constexpr const char* kWholeMachine = "local";

placement::Resources capacity_of(const MachineGroup& group) {
  placement::Resources capacity = placement::kAnything;
  if (group.cpu) capacity.cpu = *group.cpu;
  if (group.memory) capacity.memory = *group.memory;
  if (group.replicas) capacity.slots = *group.replicas;
  return capacity;
}

std::string max_replicas_words(std::int32_t most) {
  return fmt::format("max-replicas {} reached", most);
}

constexpr const char* kMaxReplicasFix =
    "raise it in config.yaml for the next start, or let others sleep";

const char* fix_of(placement::Reason reason) {
  switch (reason) {
    case placement::Reason::no_matching_place:
      return "correct its placement.sluice.dev keys, or `groups` in config.yaml";
    case placement::Reason::too_big:
      return "let it need less, or give a group more in config.yaml";
    case placement::Reason::place_away:
      return "sluice undrain";
    case placement::Reason::node_limit:
      return "raise max-per-node of its template";
    default:
      return "give the group more in config.yaml, or let others sleep";
  }
}

}  // namespace

MachineSite::MachineSite(const EngineSettings& settings, Find find)
    : settings_{settings}, find_{std::move(find)} {
  const auto add = [this](placement::Place place, const placement::Resources& capacity) {
    std::string name = place.name;
    const placement::PlaceId id = ledger_.add_place(std::move(place));
    nodes_.push_back(
        ledger_.add_node({.name = std::move(name), .place = id, .capacity = capacity}));
  };
  for (const MachineGroup& group : settings_.groups) {
    add({.name = group.name, .preference = group.preference, .labels = group.labels},
        capacity_of(group));
  }
  if (settings_.groups.empty()) add({.name = kWholeMachine}, placement::kAnything);
}

std::optional<placement::NodeId> MachineSite::find(std::string_view node) const {
  if (!has_groups()) return nodes_.front();
  for (const placement::NodeId each : nodes_) {
    if (ledger_.node(each).name == node) return each;
  }
  return std::nullopt;
}

void MachineSite::remove(std::string_view place) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](placement::NodeId each) {
    return ledger_.node(each).name == place;
  });
  if (found == nodes_.end() || nodes_.size() == 1) return;
  const placement::PlaceId id = ledger_.node(*found).place;
  ledger_.remove_node(*found);
  ledger_.remove_place(id);
  nodes_.erase(found);
}

// That exist, and that are granted.
std::int64_t MachineSite::replicas() const {
  std::int64_t all = 0;
  for (const placement::PlaceId place : ledger_.places()) {
    const placement::Totals totals = ledger_.totals(place);
    all += totals.used.slots + totals.reserved.slots;
  }
  return all;
}

// Of the whole machine the limit is the node's capacity; of groups together it is no node's.
placement::Site::Terms MachineSite::terms(const RevisionId& revision,
                                          const placement::RevisionDemand& demand,
                                          std::int64_t held) {
  ProcessRevision* const found = find_(revision);
  if (found == nullptr) return {.most = demand.wanted, .there = demand.wanted};
  if (!has_groups()) {
    placement::Node machine = ledger_.node(nodes_.front());
    if (machine.capacity.slots != settings_.max_replicas) {
      machine.capacity.slots = settings_.max_replicas;
      ledger_.update_node(nodes_.front(), std::move(machine));
    }
    return found->terms(demand, std::nullopt);
  }
  const std::int64_t others = replicas() - held;
  const std::int64_t most = std::max<std::int64_t>(0, settings_.max_replicas - others);
  std::optional<ProcessRevision::Limit> limit;
  if (most < demand.wanted) {
    limit = {.replicas = static_cast<std::int32_t>(most),
             .what = max_replicas_words(settings_.max_replicas),
             .fix = kMaxReplicasFix};
  }
  return found->terms(demand, limit);
}

std::string MachineSite::spare_bound() const {
  return fmt::format("max-replicas {}", settings_.max_replicas);
}

GateAnswer MachineSite::may_start(const RevisionId& revision, std::int32_t nth,
                                  placement::NodeId /*node*/, const placement::Resources& /*each*/,
                                  TimePoint /*now*/) {
  GateAnswer answer = find_(revision)->may_start(nth);
  answer.shared = true;
  return answer;
}

void MachineSite::explain(const RevisionId& revision, const placement::RevisionDemand& demand,
                          const placement::Refusal& refusal, placement::Missing& missing) {
  using placement::Reason;
  const std::string slots = max_replicas_words(settings_.max_replicas);
  const placement::Naming naming{.only_place = !has_groups(), .slots_words = slots};
  if (!has_groups()) {
    missing.detail = placement::refusal_words(ledger_, refusal, naming);
    missing.fix = kMaxReplicasFix;
  } else {
    const model::PlacementWish wish =
        demand.wish == nullptr ? model::PlacementWish{} : *demand.wish;
    const placement::PlaceOrder order{ledger_, wish};
    missing.detail = placement::why_no_node(
        ledger_, {.need = demand.each, .order = &order, .max_per_node = wish.max_per_node}, wish,
        naming);
    missing.fix = fix_of(refusal.reason);
  }
  const bool by_gate = refusal.reason == Reason::gate || refusal.reason == Reason::gate_later;
  find_(revision)->explain(by_gate, placement::refused(refusal.reason), missing);
}

}  // namespace sluice::local
