#include "autoscaler/placement/core/planner.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

namespace sluice::placement {
namespace {

// Sets of two and more are tried of so many candidates, the first by the policy; of more, the
// policy's own order takes over.
constexpr std::size_t kInSets = 40;
// Nodes of one place that are looked at for moves inside of it.
constexpr std::size_t kNodesTried = 32;

using Set = std::vector<std::size_t>;  // positions of candidates, ascending

struct Movable {
  ServiceId service{};
  const ServiceFacts* facts = nullptr;
  Resources used{};  // there
  Ppm share = 0;     // of the place
  std::size_t rank = 0;
};

struct Candidate {
  std::size_t ranks = 0;
  Ppm freed = 0;
  std::size_t field = 0;
  Set set{};

  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

// What could be emptied: a place, or one of its nodes.
struct Field {
  PlaceId place{};
  std::uint32_t tier = 0;  // of the place
  std::optional<NodeId> node{};
  Resources capacity{};
  Resources free{};
  std::vector<Movable> movable{};  // in the order of the policy
};

// One search for a plan.
class Planning {
 public:
  Planning(Ledger& ledger, const ServiceBook& book, Parameters& parameters,
           const PlanRequest& request, const MigrationPolicy& policy, const PlanLimits& limits,
           TimePoint now)
      : ledger_(ledger),
        book_(book),
        parameters_(parameters),
        demand_(request.demand),
        request_(request),
        policy_(policy),
        limits_(limits),
        now_(now),
        trial_(ledger) {}

  // `whatever_age`: as if every service could be moved at once.
  [[nodiscard]] std::optional<MovePlan> search(bool whatever_age) {
    whatever_age_ = whatever_age;
    find_fields();
    if (policy_.select == MigrationPolicy::Select::policy_first) return in_policy_order(kNoBound);
    for (std::size_t size = 1; size <= moves_max(); ++size) {
      for (auto first = fields_.begin(); first != fields_.end();) {
        const auto last = std::find_if(first, fields_.end(), [&](const Field& field) {
          return std::pair{field.tier, field.node.has_value()} !=
                 std::pair{first->tier, first->node.has_value()};
        });
        if (auto plan = of_size({first, last}, size)) return plan;
        first = last;
      }
    }
    const bool all_tried = std::all_of(fields_.begin(), fields_.end(), [](const Field& field) {
      return field.movable.size() <= kInSets;
    });
    if (all_tried || spent()) return std::nullopt;
    return in_policy_order(moves_max());
  }

  [[nodiscard]] NoPlan reason() const {
    if (unworthy_) return NoPlan::not_worth;
    if (short_of_starts_) return NoPlan::no_starts;
    if (made_room_) return NoPlan::destinations_full;
    const bool any = std::any_of(fields_.begin(), fields_.end(),
                                 [](const Field& field) { return !field.movable.empty(); });
    return any ? NoPlan::too_many : NoPlan::no_movable;
  }

  [[nodiscard]] bool met_young() const { return met_young_; }

  [[nodiscard]] std::int32_t trials() const { return trials_; }

 private:
  static constexpr std::size_t kNoBound = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t moves_max() const {
    return static_cast<std::size_t>(std::max(0, limits_.moves_max));
  }

  [[nodiscard]] bool spent() const { return trials_ >= limits_.trials_max; }

  void find_fields() {
    fields_.clear();
    for (const PlaceOrder::Entry& entry : demand_.order->entries()) {
      const PlaceId id = entry.place;
      if (demand_.not_in == id || ledger_.place(id).state != PlaceState::ready) continue;
      if (!ledger_.could_hold(id, demand_.need)) continue;
      const Totals totals = ledger_.totals(id);
      const auto nodes = ledger_.nodes(id);
      // The room is there, only not on one node: services move inside of the place first.
      if (nodes.size() > 1 && fits(demand_.need, totals.free())) {
        for (const NodeId node : nodes.first(std::min(nodes.size(), kNodesTried))) {
          if (!ledger_.node(node).takes()) continue;
          add_field({.place = id,
                     .tier = entry.tier,
                     .node = node,
                     .capacity = ledger_.node(node).capacity,
                     .free = ledger_.free(node)});
        }
      }
      add_field(
          {.place = id, .tier = entry.tier, .capacity = totals.capacity, .free = totals.free()});
    }
  }

  void add_field(Field field) {
    std::vector<ServiceId> services;
    for (const ServiceId service : ledger_.services(field.place)) {
      if (may_move(service, field)) services.push_back(service);
    }
    const auto ranks = sort_by_policy(services, policy_, book_, parameters_);
    for (std::size_t at = 0; at < services.size(); ++at) {
      const Resources used = used_in(services[at], field);
      field.movable.push_back({services[at], book_.find(services[at]), used,
                               dominant_share(used, field.capacity), ranks[at]});
    }
    fields_.push_back(std::move(field));
  }

  [[nodiscard]] Resources used_in(ServiceId service, const Field& field) const {
    if (!field.node) return ledger_.used(field.place, service);
    for (const Holding& held : ledger_.holdings(service)) {
      if (held.node == *field.node) return held.used;
    }
    return {};
  }

  [[nodiscard]] bool may_move(ServiceId service, const Field& field) {
    const ServiceFacts* const facts = book_.find(service);
    if (facts == nullptr || facts->order == nullptr || service == demand_.service) return false;
    if (!facts->movable || facts->moving) return false;
    if (same_application(*facts)) return false;
    if (!field.node && !has_other_place(*facts, field.place)) return false;
    if (field.node && used_in(service, field) == Resources{}) return false;
    if (whatever_age_) return true;
    const bool young = movable_from(*facts, limits_.minimum_age) > now_ || starts(service, field);
    met_young_ = met_young_ || young;
    return !young;
  }

  // Replicas of it are about to start there.
  [[nodiscard]] bool starts(ServiceId service, const Field& field) const {
    const auto all = ledger_.holdings(service);
    return std::any_of(all.begin(), all.end(), [&](const Holding& held) {
      return held.reserved != Resources{} && ledger_.node(held.node).place == field.place;
    });
  }

  [[nodiscard]] bool same_application(const ServiceFacts& facts) const {
    const ServiceFacts* const own = book_.find(demand_.service);
    return own != nullptr && own->application != ApplicationId{} &&
           own->application == facts.application;
  }

  [[nodiscard]] bool has_other_place(const ServiceFacts& facts, PlaceId place) const {
    const auto entries = facts.order->entries();
    return std::any_of(entries.begin(), entries.end(), [&](const PlaceOrder::Entry& entry) {
      return entry.place != place && ledger_.place(entry.place).state == PlaceState::ready;
    });
  }

  // Sets of one size in places that are liked the same, in the order of the sum of their ranks; of
  // one sum first what frees the least beyond the need.
  [[nodiscard]] std::optional<MovePlan> of_size(std::span<const Field> fields, std::size_t size) {
    std::vector<Candidate> sets;
    for (std::size_t at = 0; at < fields.size(); ++at) {
      const std::size_t movable = fields[at].movable.size();
      Candidate chosen{.field = at};
      collect(fields[at], size == 1 ? movable : std::min(movable, kInSets), size, chosen, sets);
    }
    std::sort(sets.begin(), sets.end());
    for (const Candidate& each : sets) {
      if (spent()) break;
      if (auto plan = prove(fields[each.field], each.set)) return plan;
    }
    return std::nullopt;
  }

  // Completes `chosen` by `size` more, in every way that could make room.
  void collect(const Field& field, std::size_t count, std::size_t size, Candidate& chosen,
               std::vector<Candidate>& into) {
    Set& set = chosen.set;
    if (size == 0) {
      if (!could_make_room(field, set)) return;
      Resources freed;
      chosen.ranks = 0;
      for (const std::size_t at : set) {
        chosen.ranks += field.movable[at].rank;
        freed += field.movable[at].used;
      }
      chosen.freed = dominant_share(freed, field.capacity);
      into.push_back(chosen);
      return;
    }
    for (std::size_t at = set.empty() ? 0 : set.back() + 1; at + size <= count; ++at) {
      set.push_back(at);
      collect(field, count, size - 1, chosen, into);
      set.pop_back();
    }
  }

  // A quick look, before anything is tried: what is freed is enough in all.
  [[nodiscard]] bool could_make_room(const Field& field, const Set& set) const {
    Resources room = field.free;
    for (const std::size_t at : set) room += field.movable[at].used;
    return fits(demand_.need, room);
  }

  // Lifts the services of a set; the node that then has room for the demand, if any.
  [[nodiscard]] std::optional<NodeId> clear(const Field& field, const Set& set,
                                            std::vector<PlannedMove>& moves) {
    moves.clear();
    for (const std::size_t at : set) {
      const Movable& each = field.movable[at];
      moves.push_back(lift(trial_, each.service, *each.facts, field.place, field.node));
    }
    const Gate gate = [&](NodeId node, const Resources& need) { return opened(node, need, moves); };
    if (!field.node) {
      return choose_in(ledger_, demand_, field.place, request_.gate ? gate : Gate{}).node;
    }
    const bool limited = demand_.max_per_node > 0 &&
                         ledger_.count(*field.node, demand_.service) >= demand_.max_per_node;
    if (limited || !fits(demand_.need, ledger_.free(*field.node))) return std::nullopt;
    if (request_.gate && !gate(*field.node, demand_.need).granted) return std::nullopt;
    return field.node;
  }

  // What the gate of a node will say when the replicas that leave it are gone.
  [[nodiscard]] GateAnswer opened(NodeId node, const Resources& need,
                                  const std::vector<PlannedMove>& moves) const {
    GateAnswer answer = request_.gate(node, need);
    if (answer.granted || answer.later || answer.shared) return answer;
    for (const PlannedMove& move : moves) {
      answer.free +=
          move.need.memory * std::count(move.from_nodes.begin(), move.from_nodes.end(), node);
    }
    answer.granted = answer.free >= answer.claim;
    return answer;
  }

  // The plan that moves this set, if every service of it has a place to go to.
  [[nodiscard]] std::optional<MovePlan> prove(const Field& field, const Set& set) {
    const Trial::Mark mark = trial_.mark();
    std::vector<PlannedMove> moves;
    const auto node = clear(field, set, moves);
    std::optional<MovePlan> plan;
    if (node) {
      made_room_ = true;
      trial_.take(*node, demand_.service, demand_.need);
      if (settle_all(field, set, moves)) {
        plan = MovePlan{.moves = std::move(moves), .place = field.place, .node = *node};
      }
    }
    trial_.back_to(mark);
    if (plan && (!may_start(*plan) || !is_worth(field, *plan))) plan.reset();
    return plan;
  }

  // The largest first; the moves come in that order, too.
  [[nodiscard]] bool settle_all(const Field& field, const Set& set,
                                std::vector<PlannedMove>& moves) {
    std::vector<std::size_t> order(set.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
      return field.movable[set[left]].share > field.movable[set[right]].share;
    });
    std::vector<PlannedMove> sorted;
    sorted.reserve(order.size());
    for (const std::size_t at : order) sorted.push_back(std::move(moves[at]));
    moves = std::move(sorted);
    return settle_from(field, moves, 0);
  }

  // Services of a set may be in each other's way: when a later one finds no room, an earlier one
  // takes its next best place.
  [[nodiscard]] bool settle_from(const Field& field, std::vector<PlannedMove>& moves,
                                 std::size_t first) {
    if (first == moves.size()) return true;
    PlannedMove& move = moves[first];
    const Settling settling = settling_of(field, move.service);
    for (const PlaceId place : destinations(ledger_, move, settling)) {
      const Trial::Mark mark = trial_.mark();
      if (spent()) return false;
      if (!settle_in(trial_, move, place, settling)) continue;
      if (settle_from(field, moves, first + 1)) return true;
      trial_.back_to(mark);
    }
    return false;
  }

  [[nodiscard]] Settling settling_of(const Field& field, ServiceId service) {
    return {
        .facts = *book_.find(service), .off = field.node, .gate = request_.gate, .trials = trials_};
  }

  [[nodiscard]] bool may_start(const MovePlan& plan) {
    std::int64_t starts = 0;
    for (const PlannedMove& move : plan.moves) starts += std::ssize(move.to_nodes);
    const bool enough = starts <= request_.starts_max;
    short_of_starts_ = short_of_starts_ || !enough;
    return enough;
  }

  [[nodiscard]] bool is_worth(const Field& field, const MovePlan& plan) {
    std::vector<ServiceId> moved;
    moved.reserve(plan.moves.size());
    for (const PlannedMove& move : plan.moves) moved.push_back(move.service);
    // A replica that needs little of the place, or of one that nothing but a gate bounds, is worth
    // as much as one service of it all the same.
    const auto all = ledger_.services(field.place);
    const Ppm gain = std::max(dominant_share(demand_.need, ledger_.totals(field.place).capacity),
                              kWhole / std::max<Ppm>(1, static_cast<Ppm>(all.size())));
    const Ppm cost = cost_of(parameters_, moved, all);
    const bool enough = worth(gain, request_.urgency, cost, limits_.worth_divisor);
    unworthy_ = unworthy_ || !enough;
    return enough;
  }

  // Services as the policy orders them until there is room, less those that it did not take.
  [[nodiscard]] std::optional<MovePlan> in_policy_order(std::size_t most) {
    for (const Field& field : fields_) {
      std::vector<bool> stuck(field.movable.size());
      for (bool again = true; again && !spent();) {
        again = false;
        const Set set = first_that_make_room(field, stuck);
        if (set.empty() || set.size() > most) break;
        if (auto plan = prove(field, set)) return plan;
        again = mark_stuck(field, set, stuck);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool makes_room(const Field& field, const Set& set) {
    if (!could_make_room(field, set)) return false;
    const Trial::Mark mark = trial_.mark();
    std::vector<PlannedMove> moves;
    const bool room = clear(field, set, moves).has_value();
    trial_.back_to(mark);
    return room;
  }

  [[nodiscard]] Set first_that_make_room(const Field& field, const std::vector<bool>& stuck) {
    Set set;
    bool room = false;
    for (std::size_t at = 0; at < field.movable.size() && !room; ++at) {
      if (stuck[at]) continue;
      set.push_back(at);
      room = makes_room(field, set);
    }
    if (!room) return {};
    for (std::size_t left = set.size(); left > 0; --left) {
      Set without = set;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(left - 1));
      if (!without.empty() && makes_room(field, without)) set = std::move(without);
    }
    return set;
  }

  // Notes one service of the set that has nowhere to go, even alone; false: each has.
  [[nodiscard]] bool mark_stuck(const Field& field, const Set& set, std::vector<bool>& stuck) {
    for (const std::size_t at : set) {
      const Movable& each = field.movable[at];
      const Trial::Mark mark = trial_.mark();
      PlannedMove move = lift(trial_, each.service, *each.facts, field.place, field.node);
      const bool settled = settle(trial_, move, settling_of(field, each.service));
      trial_.back_to(mark);
      if (settled) continue;
      stuck[at] = true;
      return true;
    }
    // Each alone has a place, all together have not: the last by the policy stays.
    stuck[set.back()] = true;
    return set.size() > 1;
  }

  Ledger& ledger_;  // this and the next six are the caller's
  const ServiceBook& book_;
  Parameters& parameters_;
  const Demand& demand_;
  const PlanRequest& request_;
  const MigrationPolicy& policy_;
  const PlanLimits& limits_;
  TimePoint now_;
  Trial trial_;
  std::vector<Field> fields_;
  std::int32_t trials_ = 0;
  bool whatever_age_ = false;
  bool met_young_ = false;
  bool made_room_ = false;
  bool unworthy_ = false;
  bool short_of_starts_ = false;
};

}  // namespace

std::string_view name(NoPlan reason) {
  switch (reason) {
    case NoPlan::none:
      return "none";
    case NoPlan::not_needed:
      return "not_needed";
    case NoPlan::too_big:
      return "too_big";
    case NoPlan::no_movable:
      return "no_movable";
    case NoPlan::too_young:
      return "too_young";
    case NoPlan::destinations_full:
      return "destinations_full";
    case NoPlan::too_many:
      return "too_many";
    case NoPlan::no_starts:
      return "no_starts";
    case NoPlan::not_worth:
      return "not_worth";
  }
  return "none";
}

PlanOutcome Planner::plan(const PlanRequest& request, const MigrationPolicy& policy,
                          const PlanLimits& limits, TimePoint now) {
  const Choice now_free = choose(ledger_, request.demand, request.gate);
  if (now_free.node || now_free.refusal.reason == Reason::no_matching_place ||
      now_free.refusal.reason == Reason::gate_later) {
    return {.reason = NoPlan::not_needed};
  }
  if (now_free.refusal.reason == Reason::too_big) return {.reason = NoPlan::too_big};
  Planning planning{ledger_, book_, parameters_, request, policy, limits, now};
  PlanOutcome outcome;
  outcome.plan = planning.search(false);
  outcome.trials = planning.trials();
  if (outcome.plan) return outcome;
  outcome.reason = planning.reason();
  if (!planning.met_young()) return outcome;
  Planning afterwards{ledger_, book_, parameters_, request, policy, limits, now};
  outcome.later = afterwards.search(true);
  outcome.trials += afterwards.trials();
  if (!outcome.later) {
    outcome.reason = afterwards.reason();
    return outcome;
  }
  outcome.reason = NoPlan::too_young;
  TimePoint from = now;
  for (const PlannedMove& move : outcome.later->moves) {
    from = std::max(from, movable_from(*book_.find(move.service), limits.minimum_age));
  }
  outcome.movable_from = from;
  return outcome;
}

}  // namespace sluice::placement
