#include "tests/unit/autoscaler/placement/core/scene.h"

#include "autoscaler/placement/core/words.h"

#include <map>
#include <set>
#include <utility>

namespace sluice::placement {

PlaceId Scene::place(const std::string& name, const PlaceForm& form) {
  const PlaceId id = ledger_.add_place({.name = name,
                                        .preference = form.preference,
                                        .labels = form.labels,
                                        .packing = form.packing});
  for (std::int32_t at = 0; at < form.nodes; ++at) {
    (void)ledger_.add_node(
        {.name = name + "/" + std::to_string(at), .place = id, .capacity = form.capacity});
  }
  places_[name] = id;
  return id;
}

ServiceId Scene::service(const std::string& name, const ServiceForm& form) {
  const auto id = ServiceId{static_cast<std::uint32_t>(services_.size())};
  services_.push_back({.name = name,
                       .wish = form.wish,
                       .order = std::make_unique<PlaceOrder>(ledger_, form.wish),
                       .facts = {},
                       .measures = {}});
  ServiceFacts& facts = services_.back().facts;
  facts.name = name;
  facts.order = services_.back().order.get();
  facts.need = form.need;
  facts.max_per_node = form.wish.max_per_node;
  facts.move_priority = form.wish.move_priority;
  facts.movable = form.wish.movable.value_or(true) && form.wish.pin.empty();
  facts.usual_start = std::chrono::seconds{1};
  if (!form.application.empty()) {
    const auto number = static_cast<std::uint32_t>(applications_.size()) + 1;
    facts.application =
        ApplicationId{applications_.try_emplace(form.application, number).first->second};
  }
  ids_[name] = id;
  return id;
}

void Scene::set_state(const std::string& name, PlaceState state) {
  Place place = ledger_.place(place_id(name));
  place.state = state;
  ledger_.update_place(place_id(name), place);
}

void Scene::set_preference(const std::string& name, std::int32_t preference) {
  Place place = ledger_.place(place_id(name));
  place.preference = preference;
  ledger_.update_place(place_id(name), place);
}

void Scene::run(const std::string& service, const std::string& place, std::int64_t replicas) {
  for (std::int64_t at = 0; at < replicas; ++at) {
    const Choice choice = choose_in(ledger_, demand(service), place_id(place));
    ledger_.take(choice.node.value_or(node(place)), id(service), facts(service).need);
  }
}

void Scene::end(const std::string& service, const std::string& place, std::int64_t replicas) {
  for (std::int64_t at = 0; at < replicas; ++at) {
    for (const Holding& held : ledger_.holdings(id(service))) {
      if (ledger_.node(held.node).place != place_id(place)) continue;
      ledger_.give_back(held.node, id(service), facts(service).need);
      break;
    }
  }
}

ServiceFacts& Scene::facts(const std::string& service) {
  return known(service).facts;
}

Scene::Measures& Scene::measures(const std::string& service) {
  return known(service).measures;
}

NodeId Scene::node(const std::string& place, std::size_t number) const {
  return ledger_.nodes(place_id(place))[number];
}

// Orders follow changed places.
void Scene::refresh() {
  for (Known& each : services_) {
    if (each.order->outdated(ledger_)) *each.order = PlaceOrder{ledger_, each.wish};
  }
}

Demand Scene::demand(const std::string& service) {
  refresh();
  const ServiceFacts& known = facts(service);
  return {.service = id(service),
          .need = known.need,
          .order = known.order,
          .max_per_node = known.max_per_node};
}

std::string Scene::choose(const std::string& service, const Gate& with) {
  const Demand wanted = demand(service);
  const Choice choice = placement::choose(ledger_, wanted, with);
  if (!choice.node) {
    return "no: " + why_no_node(ledger_, wanted, known(service).wish,
                                {.only_place = ledger_.places().size() == 1}, with);
  }
  const std::string& place = ledger_.place(choice.place).name;
  return ledger_.nodes(choice.place).size() == 1 ? place : ledger_.node(*choice.node).name;
}

std::string Scene::start(const std::string& service) {
  const Choice choice = placement::choose(ledger_, demand(service));
  std::string text = choose(service);
  if (choice.node) ledger_.take(*choice.node, id(service), facts(service).need);
  return text;
}

PlanOutcome Scene::outcome(const std::string& service) {
  parameters_.begin_cycle();
  Planner planner{ledger_, *this, parameters_};
  return planner.plan(
      {.demand = demand(service), .urgency = urgency, .gate = gate, .starts_max = starts_max},
      policy, limits, now);
}

std::string Scene::plan(const std::string& service) {
  const PlanOutcome found = outcome(service);
  if (!found.plan) return std::string{name(found.reason)};
  std::string all;
  for (const PlannedMove& move : found.plan->moves) all += text(move) + ", ";
  return all + "then " + ledger_.place(found.plan->place).name;
}

std::string Scene::text(const PlannedMove& move) const {
  const bool inside = move.from == move.to;
  const auto name = [&](PlaceId place, NodeId node) {
    return inside ? ledger_.node(node).name : ledger_.place(place).name;
  };
  return find(move.service)->name + " " + name(move.from, move.from_nodes.front()) + "->" +
         name(move.to, move.to_nodes.front());
}

std::string Scene::where(const std::string& service) const {
  std::string all = service;
  for (const PlaceId place : ledger_.places()) {
    const std::int64_t replicas = ledger_.used(place, id(service)).slots;
    if (replicas == 0) continue;
    all +=
        (all == service ? " " : ", ") + ledger_.place(place).name + " " + std::to_string(replicas);
  }
  return all;
}

const ServiceFacts* Scene::find(ServiceId service) const {
  return index_of(service) < services_.size() ? &services_[index_of(service)].facts : nullptr;
}

std::optional<std::int64_t> Scene::measure(Parameter parameter, ServiceId service) const {
  ++measured[{parameter, service}];
  const Known& asked = services_[index_of(service)];
  if (parameter == Parameter::cpu_used) return asked.measures.cpu_used;
  if (parameter == Parameter::in_flight) return asked.measures.in_flight;
  if (parameter == Parameter::request_rate) return asked.measures.request_rate;
  std::set<PlaceId> places;
  for (std::uint32_t at = 0; at < services_.size(); ++at) {
    if (services_[at].facts.application != asked.facts.application) continue;
    for (const Holding& held : ledger_.holdings(ServiceId{at})) {
      places.insert(ledger_.node(held.node).place);
    }
  }
  return static_cast<std::int64_t>(places.size());
}

namespace {

std::vector<ReservationId> reserve(Ledger& ledger, const PlannedMove& move, MoveId id,
                                   TimePoint expires) {
  std::map<NodeId, std::int64_t> replicas;
  for (const NodeId node : move.to_nodes) ++replicas[node];
  std::vector<ReservationId> reserved;
  reserved.reserve(replicas.size());
  for (const auto& [node, count] : replicas) {
    reserved.push_back(ledger.reserve({.owner = Owner::of(id),
                                       .service = move.service,
                                       .node = node,
                                       .room = move.need * count,
                                       .expires = expires,
                                       .purpose = Purpose::move}));
  }
  return reserved;
}

}  // namespace

std::vector<ReservationId> reserve(Ledger& ledger, const MovePlan& plan, const Demand& demand,
                                   MoveId first, TimePoint expires) {
  std::vector<ReservationId> reserved;
  auto number = static_cast<std::uint32_t>(first);
  for (const PlannedMove& move : plan.moves) {
    const auto of_move = reserve(ledger, move, MoveId{number++}, expires);
    reserved.insert(reserved.end(), of_move.begin(), of_move.end());
  }
  reserved.push_back(ledger.reserve({.owner = Owner::of(demand.service),
                                     .service = demand.service,
                                     .node = plan.node,
                                     .room = common_part(demand.need, ledger.free(plan.node)),
                                     .expires = expires}));
  return reserved;
}

}  // namespace sluice::placement
