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

// Of time that is left: 0.4 s is not none.
std::string left_text(Duration duration) {
  return std::to_string(std::chrono::ceil<seconds>(duration).count()) + " s";
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

// When the replicas in a place go to one that is liked more and has room for one of them, or what
// keeps them. `at`: the end of that, if time alone brings it.
std::string homecoming_words(const Ledger& ledger, const ServiceBook& book,
                             const LikedQuestion& question, PlaceId to, TimePoint now,
                             std::optional<TimePoint>& at) {
  std::string has_room = ledger.place(to).name + " has room";
  const ServiceFacts* const facts = book.find(question.demand.service);
  if (facts == nullptr || facts->moving) return has_room;
  if (!facts->movable) return has_room + ", but the service may not be moved";
  const auto barred = std::find_if(question.barred.begin(), question.barred.end(),
                                   [to](const Barred& each) { return each.place == to; });
  if (barred != question.barred.end()) {
    at = barred->until;
    return has_room + ", but the service could not be moved there (tried again in " +
           left_text(barred->until - now) + ")";
  }
  if (const std::string rest = rest_words(*facts, question.limits.minimum_age, now);
      !rest.empty()) {
    at = movable_from(*facts, question.limits.minimum_age);
    return has_room + ", but the service " + rest;
  }
  if (!question.due) {
    return has_room +
           " for a replica: it moves there once there has been room for all of its "
           "replicas, and a tenth to spare, for " +
           seconds_text(question.home.hold);
  }
  if (*question.due <= now) {
    return has_room +
           ": it moves there after the service that went there last, unless that would "
           "disturb more than it brings";
  }
  at = question.due;
  return has_room + ": it moves there in " + left_text(*question.due - now) + " if that lasts";
}

}  // namespace

std::string rest_words(const ServiceFacts& facts, Duration minimum_age, TimePoint now) {
  const TimePoint from = movable_from(facts, minimum_age);
  if (from <= now) return {};
  if (from == facts.cooling_until) {
    return "was moved lately (may move again in " + left_text(from - now) + ")";
  }
  return "was started " + seconds_text(now - facts.started) + " ago (may move from " +
         seconds_text(from - facts.started) + " on)";
}

std::string plan_words(const Ledger& ledger, const ServiceBook& book, const PlanOutcome& outcome,
                       const PlanLimits& limits, Asker asker, TimePoint now) {
  const auto services = [](const MovePlan& plan) {
    return counted(static_cast<std::int64_t>(plan.moves.size()), "service");
  };
  if (outcome.plan) {
    return "moving " + services(*outcome.plan) +
           (asker == Asker::waits ? " makes room: "
                                  : " would make room, which is not done for a replica that has a "
                                    "place: ") +
           moves_words(ledger, book, *outcome.plan);
  }
  switch (outcome.reason) {
    case NoPlan::none:
    case NoPlan::not_needed:
      return "";
    case NoPlan::too_big:
      return "no move helps: it is too big for every node";
    case NoPlan::no_movable:
      return "no other service there may be moved";
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

NextLook next_look(const Ledger& ledger, const Demand& demand, const PlanOutcome& outcome,
                   TimePoint now) {
  NextLook next;
  if (outcome.movable_from && *outcome.movable_from > now) next.at = outcome.movable_from;
  for (const PlaceOrder::Entry& entry : demand.order->entries()) {
    if (ledger.place(entry.place).state != PlaceState::ready) continue;
    if (!ledger.could_hold(entry.place, demand.need)) continue;
    const Choice choice = choose_in(ledger, demand, entry.place);
    if (!choice.node && moves_may_help(choice.refusal.reason)) next.places.push_back(entry.place);
  }
  return next;
}

LikedPlace explain_liked(const Ledger& ledger, const ServiceBook& book,
                         const LikedQuestion& question, TimePoint now) {
  const PlaceOrder& order = *question.demand.order;
  const auto tier = question.in ? order.tier_of(*question.in) : std::nullopt;
  const PlaceOrder above = tier ? order.above(*tier) : order;
  const auto could = [&](const PlaceOrder::Entry& entry) {
    return ledger.could_hold(entry.place, question.demand.need);
  };
  const auto ready = [&](const PlaceOrder::Entry& entry) {
    return could(entry) && ledger.place(entry.place).state == PlaceState::ready;
  };
  const auto entries = above.entries();
  auto liked = std::find_if(entries.begin(), entries.end(), ready);
  if (liked == entries.end()) {
    liked = std::find_if(entries.begin(), entries.end(), could);
    if (liked == entries.end()) return {};
    return {
        .place = liked->place,
        .why = refusal_words(ledger, {.reason = Reason::place_away, .place = liked->place}, {})};
  }
  LikedPlace result{.place = liked->place};
  Demand demand = question.demand;
  demand.order = &above;
  if (question.outcome != nullptr) {
    result.next = next_look(ledger, demand, *question.outcome, now);
  }
  const Choice choice = choose_in(ledger, demand, liked->place);
  if (!choice.node) result.why = short_of(ledger, choice.refusal);
  std::string more;
  if (const Choice free = choose(ledger, demand); free.node) {
    more = homecoming_words(ledger, book, question, free.place, now, result.next.at);
  } else if (question.outcome != nullptr) {
    more = plan_words(ledger, book, *question.outcome, question.limits, Asker::has_a_place, now);
  }
  if (!more.empty()) result.why += (result.why.empty() ? "" : "; ") + more;
  return result;
}

std::string room_words(std::span<const MoveRecord> moves) {
  std::string text;
  for (const MoveRecord& move : moves) {
    text += (text.empty() ? "room is being made in " + move.from + ": " : ", ") + move.service +
            " -> " + move.to + " (" + std::string{name(move.state)} + ")";
  }
  return text;
}

}  // namespace sluice::placement
