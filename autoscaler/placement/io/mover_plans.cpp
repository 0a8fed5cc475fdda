// What the mover plans by itself: room for services that wait, and the way home; and what a plan
// has to know of services.

#include "autoscaler/placement/io/mover.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::autoscaler {
namespace {

using placement::MoveCause;
using placement::Parameter;
using placement::PlaceId;
using placement::ServiceId;

constexpr double kThousandSeconds = 1000;

}  // namespace

// What was found and measured is of the past from here on.
void Mover::begin_cycle() {
  book_.clear();
  applications_.reset();
  rolling_.reset();
  parameters_.begin_cycle();
}

Mover::Measured Mover::measured(const Revision& revision) const {
  return parts_.measured ? parts_.measured(revision.facts().id) : Measured{};
}

const placement::Applications& Mover::applications() const {
  if (applications_) return *applications_;
  applications_.emplace();
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    const auto known = parts_.placement.find(id);
    if (!known) continue;
    applications_->add(known->id, known->wish->application, parts_.placement.ledger());
  }
  return *applications_;
}

// Of each place that it likes less than another, all that it has there may be started once more.
bool Mover::may_start_elsewhere(const placement::Placement::Service& known) const {
  const std::int64_t left = starts_left();
  const auto entries = known.order->entries();
  return std::all_of(entries.begin(), entries.end(), [&](const placement::PlaceOrder::Entry& each) {
    return each.tier == 0 || parts_.placement.count(known.id, each.place) <= left;
  });
}

void Mover::come_home() {
  std::vector<ServiceId> services;
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    const auto known = parts_.placement.find(id);
    if (known && !revision->pods().empty() && may_start_elsewhere(*known)) {
      services.push_back(known->id);
    }
  }
  // Of those that are equally far from home the policy chooses.
  (void)placement::sort_by_policy(services, policy_for(rules_.policies, MoveCause::home), *this,
                                  parameters_);
  for (const placement::PlannedMove& one :
       home_.look(parts_.placement.ledger(), *this, parameters_, services, rules_.home, rules_.plan,
                  parts_.clock.now())) {
    (void)add(one, MoveCause::home);
  }
}

void Mover::plan() {
  if (is_one_place()) return;
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    const placement::Missing* const missing = revision->missing();
    if (missing != nullptr && placement::moves_may_help(missing->reason)) plan_for(*revision);
  }
}

void Mover::plan_for(const Revision& revision) {
  const auto known = parts_.placement.find(revision.facts().id);
  if (!known || demands_.contains(known->id) || moves_.find(known->id) != nullptr) return;
  const auto outcome = outcome_for(revision, *known);
  if (outcome.plan) begin_plan(*outcome.plan, known->id);
}

placement::PlanOutcome Mover::outcome_for(const Revision& revision,
                                          const placement::Placement::Service& known) {
  const bool panic = revision.last().mode == Mode::panic;
  placement::Planner planner{parts_.placement.ledger(), *this, parameters_};
  return planner.plan({.demand = {.service = known.id,
                                  .need = known.each,
                                  .order = known.order,
                                  .max_per_node = known.wish->max_per_node},
                       .urgency = revision.granted() == 0 ? placement::Urgency::cold
                                  : panic                 ? placement::Urgency::panic
                                                          : placement::Urgency::normal,
                       .starts_max = starts_left()},
                      policy_for(rules_.policies, MoveCause::full), rules_.plan,
                      parts_.clock.now());
}

// Room at each destination is reserved before anything is touched, and what becomes free is the
// demand's.
void Mover::begin_plan(const placement::MovePlan& plan, ServiceId demand) {
  for (const placement::PlannedMove& one : plan.moves) {
    const auto id = add(one, MoveCause::full, demand);
    if (!id) continue;
    demands_.insert(demand);
    parts_.placement.reserve(*id, one.service, one.to,
                             static_cast<std::int32_t>(one.to_nodes.size()), parts_.clock.now());
    parts_.placement.promise_freed(one.service, one.from, demand);
  }
}

// A demand that has gone, or has found room, needs no move.
void Mover::withdraw() {
  for (const ServiceId demand : demands_) {
    const Revision* const revision = revision_of(demand);
    if (revision != nullptr && revision->missing() != nullptr) continue;
    for (const placement::Moves::Wish& dropped : moves_.withdraw(demand)) {
      parts_.placement.reserve(dropped.spec.id, dropped.service, dropped.to, 0, parts_.clock.now());
      parts_.placement.promise_freed(dropped.service, dropped.from, std::nullopt);
    }
  }
  std::erase_if(demands_, [this](ServiceId demand) { return !moves_.makes_room_for(demand); });
}

const placement::ServiceFacts* Mover::find(ServiceId service) const {
  const auto known = book_.find(service);
  if (known != book_.end()) return &known->second;
  const auto placed = parts_.placement.find(service);
  const Revision* const revision = revision_of(service);
  if (!placed || revision == nullptr) return nullptr;
  // Places where it failed lately are no destinations.
  placement::PlaceOrder& order = orders_.insert_or_assign(service, *placed->order).first->second;
  for (const placement::PlaceOrder::Entry& each : placed->order->entries()) {
    if (moves_.cooling_until(service, each.place, parts_.clock.now())) {
      order = order.without(each.place);
    }
  }
  placement::ServiceFacts facts{.name = revision->facts().service,
                                .order = &order,
                                .need = placed->each,
                                .max_per_node = placed->wish->max_per_node,
                                .move_priority = placed->wish->move_priority,
                                .application = applications().of(service),
                                .usual_start = measured(*revision).usual_start};
  facts.movable = placed->wish->movable.value_or(true) && placed->wish->pin.empty() &&
                  !revision->facts().one_at_a_time;
  facts.moving = moves_.pending(service) || revision->facts().retired ||
                 revision->facts().chosen.has_value() || is_replaced(*revision);
  for (const Revision::PodFacts& pod : revision->pods()) {
    facts.started = std::max(facts.started, pod.seen);
  }
  facts.cooling_until = moves_.cooling_until(service, parts_.clock.now());
  return &book_.emplace(service, std::move(facts)).first->second;
}

std::optional<std::int64_t> Mover::measure(Parameter parameter, ServiceId service) const {
  const Revision* const revision = revision_of(service);
  if (revision == nullptr) return std::nullopt;
  switch (parameter) {
    case Parameter::cpu_used:
      return measured(*revision).cpu;
    case Parameter::application_places:
      return applications().places(service);
    case Parameter::in_flight:
      return revision->requests_now();
    case Parameter::request_rate:
      if (!revision->scraped()) return std::nullopt;
      return static_cast<std::int64_t>(revision->scraped()->request_count * kThousandSeconds);
    case Parameter::cpu_requested:
    case Parameter::replicas:
    case Parameter::places:
    case Parameter::start_time:
    case Parameter::home_distance:
      break;  // Parameters has them from find() and the ledger
  }
  return std::nullopt;
}

}  // namespace sluice::autoscaler
