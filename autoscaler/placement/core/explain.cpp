#include "autoscaler/placement/core/explain.h"

#include "autoscaler/placement/core/words.h"

#include <algorithm>
#include <chrono>

namespace sluice::placement {
namespace {

using std::chrono::seconds;

std::string seconds_text(Duration duration) {
  return std::to_string(std::chrono::duration_cast<seconds>(duration).count()) + " s";
}

std::string name_of(const ServiceBook& book, ServiceId service) {
  const ServiceFacts* const facts = book.find(service);
  return facts == nullptr || facts->name.empty() ? "a service" : facts->name;
}

// What a place has of that which is short there.
std::string short_of(const Ledger& ledger, const Refusal& refusal) {
  const std::string& name = ledger.place(refusal.place).name;
  const Totals totals = ledger.totals(refusal.place);
  if (refusal.reason == Reason::slots) {
    return name + " has " + std::to_string(totals.used.slots + totals.reserved.slots) + " of its " +
           counted(totals.capacity.slots, "replica");
  }
  if (refusal.reason == Reason::cpu) {
    return name + " has " + cpu_text(refusal.free) + " of its " + cpu_text(totals.capacity.cpu) +
           " CPU free, a replica needs " + cpu_text(refusal.needed);
  }
  if (refusal.reason == Reason::memory) {
    return name + " has " + memory_text(refusal.free) + " of its " +
           memory_text(totals.capacity.memory) + " memory free, a replica needs " +
           memory_text(refusal.needed);
  }
  return refusal_words(ledger, refusal, {});
}

// "pay to slow, shop to slow"
std::string moves_words(const Ledger& ledger, const ServiceBook& book, const MovePlan& plan) {
  std::string text;
  for (const PlannedMove& move : plan.moves) {
    text += (text.empty() ? "" : ", ") + name_of(book, move.service) + " to " +
            ledger.place(move.to).name;
  }
  return text;
}

// "pay was started 12 s ago (may move from 60 s on)"
std::string age_words(const ServiceBook& book, const MovePlan& plan, const PlanLimits& limits,
                      TimePoint now) {
  std::string text;
  for (const PlannedMove& move : plan.moves) {
    const ServiceFacts* const facts = book.find(move.service);
    if (facts == nullptr) continue;
    const TimePoint from = movable_from(*facts, limits.minimum_age);
    if (from <= now && plan.moves.size() > 1) continue;
    const std::string rest = rest_words(*facts, limits.minimum_age, now);
    text += (text.empty() ? "" : ", ") + name_of(book, move.service) + " " +
            (rest.empty() ? "is being started" : rest);
  }
  return text;
}

}  // namespace

std::string rest_words(const ServiceFacts& facts, Duration minimum_age, TimePoint now) {
  const TimePoint from = movable_from(facts, minimum_age);
  if (from <= now) return {};
  if (from == facts.cooling_until) {
    return "was moved lately (may move again in " + seconds_text(from - now) + ")";
  }
  return "was started " + seconds_text(now - facts.started) + " ago (may move from " +
         seconds_text(from - facts.started) + " on)";
}

std::string plan_words(const Ledger& ledger, const ServiceBook& book, const PlanOutcome& outcome,
                       const PlanLimits& limits, TimePoint now) {
  const auto services = [](const MovePlan& plan) {
    return counted(static_cast<std::int64_t>(plan.moves.size()), "service");
  };
  if (outcome.plan) {
    return "moving " + services(*outcome.plan) +
           " makes room: " + moves_words(ledger, book, *outcome.plan);
  }
  switch (outcome.reason) {
    case NoPlan::none:
    case NoPlan::not_needed:
      return "";
    case NoPlan::too_big:
      return "no move helps: it is too big for every node";
    case NoPlan::no_movable:
      return "no service there may be moved";
    case NoPlan::too_young:
      return "moving " + services(*outcome.later) +
             " would make room: " + age_words(book, *outcome.later, limits, now);
    case NoPlan::destinations_full:
      return "what would have to leave has no other place with room; services of full places are "
             "not swapped, since each needs its room first";
    case NoPlan::too_many:
      return "more than " + counted(limits.moves_max, "service") + " would have to move";
    case NoPlan::no_starts:
      return "max-replicas leaves too few replicas to start: a move starts all before the first "
             "goes";
    case NoPlan::not_worth:
      return "making room would disturb more than it brings";
  }
  return "";
}

LikedPlace explain_liked(const Ledger& ledger, const ServiceBook& book,
                         const LikedQuestion& question, TimePoint now) {
  const PlaceOrder& order = *question.demand.order;
  const auto entries = order.entries();
  const auto tier = question.in ? order.tier_of(*question.in) : std::nullopt;
  const auto liked = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return ledger.could_hold(entry.place, question.demand.need);
  });
  if (liked == entries.end() || (tier && liked->tier >= *tier)) return {};
  LikedPlace result{.place = liked->place};
  if (ledger.place(liked->place).state != PlaceState::ready) {
    result.why = refusal_words(ledger, {.reason = Reason::place_away, .place = liked->place}, {});
    return result;
  }
  const Choice choice = choose_in(ledger, question.demand, liked->place);
  if (choice.node) {
    result.why = ledger.place(liked->place).name + " has room now";
    return result;
  }
  result.why = short_of(ledger, choice.refusal);
  if (question.outcome == nullptr) return result;
  const std::string plan = plan_words(ledger, book, *question.outcome, question.limits, now);
  if (!plan.empty()) result.why += "; " + plan;
  return result;
}

}  // namespace sluice::placement
