#include "bench/replays/placement/fleet.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

namespace sluice::replay {
namespace {

using placement::ApplicationId;
using placement::Choice;
using placement::Demand;
using placement::NodeId;
using placement::Parameter;
using placement::PlaceId;
using placement::PlaceOrder;
using placement::PlanOutcome;
using placement::Resources;
using placement::ServiceFacts;
using placement::ServiceId;

constexpr std::int64_t kFullCpu = 6600;  // millicores, which come with
constexpr std::int64_t kFullMemory = std::int64_t{7884} << 20;
// Everything was started long before.
constexpr TimePoint kNow{std::chrono::hours{1}};

// The name of a label and of a constraint: "AC".
std::string label(Letters letters) {
  std::string text;
  if ((letters & 1U) != 0) text += "A";
  if ((letters & 2U) != 0) text += "B";
  if ((letters & 4U) != 0) text += "C";
  return text;
}

Letters letter(std::size_t cluster) {
  return static_cast<Letters>(1U << cluster);
}

}  // namespace

Resources worker_of(std::int64_t cpu) {
  return {.cpu = cpu, .memory = kFullMemory / kFullCpu * cpu, .slots = placement::kUnbounded};
}

Fleet::Fleet(const FleetKind& kind) : kind_(kind), parameters_(ledger_, *this) {
  for (std::size_t at = 0; at < kClusters; ++at) {
    placement::Place place{.name = label(letter(at))};
    place.preference = kind.preference && at == kClusters - 1 ? 1 : 0;
    for (Letters labels = 1; labels <= kAllLetters; ++labels) {
      if ((labels & letter(at)) != 0) place.labels[label(labels)] = "";
    }
    places_[at] = ledger_.add_place(place);
    nodes_[at] = ledger_.add_node(
        {.name = place.name, .place = places_[at], .capacity = worker_of(kind.cpu)});
  }
  for (Letters letters = 1; letters <= kAllLetters; ++letters) {
    model::PlacementWish wish;
    wish.where.expressions.push_back({.key = label(letters), .values = {}});
    orders_[letters] = PlaceOrder{ledger_, wish};
  }
}

void Fleet::clear() {
  for (std::size_t at = 0; at < facts_.size(); ++at) {
    const auto service = ServiceId{static_cast<std::uint32_t>(at)};
    const auto held = ledger_.holdings(service);
    if (!held.empty()) ledger_.give_back(held.front().node, service, held.front().used);
  }
  facts_.clear();
  cpu_used_.clear();
  applications_ = 0;
  moves_ = 0;
}

bool Fleet::admit(const Application& application) {
  parameters_.begin_cycle();
  moved_.clear();
  ++applications_;
  const auto first = static_cast<std::uint32_t>(facts_.size());
  for (const ServiceDraw& each : application) {
    facts_.push_back({.order = &orders_[each.letters],
                      .need = each.need,
                      .application = ApplicationId{applications_},
                      .usual_start = std::chrono::seconds{1}});
    cpu_used_.push_back(each.cpu_used);
  }
  Trial trial{ledger_};
  bool in = true;
  for (std::uint32_t at = 0; at < application.size() && in; ++at) {
    in = place(trial, ServiceId{first + at});
  }
  if (in) {
    trial.keep();
    moves_ += static_cast<std::int64_t>(moved_.size());
  }
  for (const ServiceId service : moved_) facts_[index_of(service)].moving = false;
  return in;
}

std::int64_t Fleet::cpu_used(std::size_t cluster) const {
  return ledger_.totals(places_[cluster]).used.cpu;
}

std::vector<std::int64_t> Fleet::clusters_used() const {
  std::vector<std::int64_t> used;
  ApplicationId before{};
  for (std::uint32_t at = 0; at < facts_.size(); ++at) {
    if (facts_[at].application == before) continue;
    before = facts_[at].application;
    used.push_back(places_of_application(ServiceId{at}));
  }
  return used;
}

void Fleet::describe(Digest& digest) const {
  for (std::size_t at = 0; at < facts_.size(); ++at) {
    const auto held = ledger_.holdings(ServiceId{static_cast<std::uint32_t>(at)});
    digest.add(held.empty() ? 0 : 1 + std::uint64_t{index_of(held.front().node)});
  }
}

const ServiceFacts* Fleet::find(ServiceId service) const {
  return &facts_[index_of(service)];
}

std::optional<std::int64_t> Fleet::measure(Parameter parameter, ServiceId service) const {
  if (parameter == Parameter::in_flight || parameter == Parameter::request_rate) return 0;
  if (parameter == Parameter::cpu_used) return cpu_used_[index_of(service)];
  return places_of_application(service);
}

std::int64_t Fleet::places_of_application(ServiceId service) const {
  std::set<NodeId> found;
  const ApplicationId application = facts_[index_of(service)].application;
  for (std::size_t at = 0; at < facts_.size(); ++at) {
    if (facts_[at].application != application) continue;
    const auto held = ledger_.holdings(ServiceId{static_cast<std::uint32_t>(at)});
    if (!held.empty()) found.insert(held.front().node);
  }
  return static_cast<std::int64_t>(found.size());
}

Demand Fleet::demand(ServiceId service) const {
  const ServiceFacts& facts = facts_[index_of(service)];
  return {.service = service, .need = facts.need, .order = facts.order};
}

bool Fleet::place(Trial& trial, ServiceId service) {
  const Demand wanted = demand(service);
  Choice choice = choose(ledger_, wanted);
  if (!choice.node) {
    if (!make_room(trial, service)) return false;
    choice = choose(ledger_, wanted);
  }
  trial.take(*choice.node, service, wanted.need);
  return true;
}

bool Fleet::make_room(Trial& trial, ServiceId service) {
  switch (kind_.mover) {
    case Mover::none:
      return false;
    case Mover::document:
    case Mover::document_destinations:
    case Mover::document_room:
      return follow_document(trial, service);
    case Mover::ours:
      return plan(trial, service);
  }
  return false;
}

bool Fleet::plan(Trial& trial, ServiceId service) {
  placement::Planner planner{ledger_, *this, parameters_};
  const PlanOutcome outcome =
      planner.plan({.demand = demand(service)}, kind_.policy, limits_, kNow);
  if (!outcome.plan) return false;
  for (const placement::PlannedMove& move : outcome.plan->moves) {
    trial.give_back(move.from_nodes.front(), move.service, move.need);
    moved_.push_back(move.service);
    facts_[index_of(move.service)].moving = true;
  }
  for (const placement::PlannedMove& move : outcome.plan->moves) {
    trial.take(move.to_nodes.front(), move.service, move.need);
  }
  return true;
}

// The document's order: the least busy first, of equals what is spread already. Priorities are
// equal in these replays.
std::vector<ServiceId> Fleet::document_order(ServiceId service, PlaceId target) const {
  const auto there = ledger_.services(target);
  std::vector<ServiceId> candidates;
  for (const ServiceId each : there) {
    if (facts_[index_of(each)].application != facts_[index_of(service)].application) {
      candidates.push_back(each);
    }
  }
  const auto key = [this](ServiceId each) {
    const std::int64_t requested = facts_[index_of(each)].need.cpu;
    return std::pair{placement::share_of(cpu_used_[index_of(each)], requested),
                     -places_of_application(each)};
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](ServiceId left, ServiceId right) { return key(left) < key(right); });
  return candidates;
}

bool Fleet::follow_document(Trial& trial, ServiceId service) {
  for (const PlaceOrder::Entry& entry : facts_[index_of(service)].order->entries()) {
    auto candidates = document_order(service, entry.place);
    std::erase_if(candidates, [&](ServiceId each) { return passes_over(each, entry.place); });
    const Trial::Mark mark = trial.mark();
    const std::size_t moved = moved_.size();
    if (free_enough(trial, service, entry.place, candidates)) return true;
    trial.back_to(mark);
    moved_.resize(moved);
  }
  return false;
}

// Candidates in order until enough would be free; destinations only then, and one that is missing
// ends the attempt.
bool Fleet::free_enough(Trial& trial, ServiceId service, PlaceId target,
                        const std::vector<ServiceId>& candidates) {
  const Resources need = facts_[index_of(service)].need;
  Resources room = ledger_.totals(target).free();
  std::vector<ServiceId> chosen;
  for (const ServiceId each : candidates) {
    if (fits(need, room)) break;
    room += facts_[index_of(each)].need;
    chosen.push_back(each);
  }
  if (!fits(need, room)) return false;
  return std::all_of(chosen.begin(), chosen.end(),
                     [&](ServiceId each) { return move_away(trial, each, target); });
}

bool Fleet::passes_over(ServiceId candidate, PlaceId from) const {
  if (kind_.mover == Mover::document_room) return !destination(candidate, from).node;
  return kind_.mover == Mover::document_destinations &&
         facts_[index_of(candidate)].order->entries().size() == 1;
}

Choice Fleet::destination(ServiceId service, PlaceId from) const {
  Demand wanted = demand(service);
  wanted.not_in = from;
  return choose(ledger_, wanted);
}

bool Fleet::move_away(Trial& trial, ServiceId service, PlaceId from) {
  const Choice choice = destination(service, from);
  if (!choice.node) return false;
  const Resources need = facts_[index_of(service)].need;
  trial.give_back(ledger_.holdings(service).front().node, service, need);
  trial.take(*choice.node, service, need);
  moved_.push_back(service);
  return true;
}

}  // namespace sluice::replay
