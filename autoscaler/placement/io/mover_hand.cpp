// Moves that a person asks for, and what may not be moved now.

#include "autoscaler/placement/core/words.h"
#include "autoscaler/placement/io/mover.h"
#include "common/values/closest_name.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

using placement::MoveCause;
using placement::PlaceId;
using placement::ServiceId;

Result<PlaceId, Problem> Mover::place_named(const std::string& name) const {
  const placement::Ledger& ledger = parts_.placement.ledger();
  if (const auto found = ledger.find_place(name)) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const PlaceId id : ledger.places()) {
    names.push_back(ledger.place(id).name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto meant = closest_name(name, names);
  return Problem{"there is no place " + name,
                 meant ? "did you mean " + *meant + "?" : "there are " + list};
}

// Of services with a revision that is about to take the place of the one that serves.
const std::set<std::string>& Mover::rolling() const {
  if (rolling_) return *rolling_;
  rolling_.emplace();
  for (const auto& [id, revision] : parts_.fleet.revisions()) {
    const model::Revision& facts = revision->facts();
    if (!facts.in_service && !facts.retired && !facts.chosen) rolling_->insert(facts.service);
  }
  return *rolling_;
}

// Another revision of its service serves in its place, or is about to.
bool Mover::is_replaced(const Revision& revision) const {
  const model::Revision& own = revision.facts();
  if (own.in_service) return rolling().contains(own.service);
  if (!own.retired && !own.chosen) return false;
  const auto& all = parts_.fleet.revisions();
  return std::any_of(all.begin(), all.end(), [&own](const auto& each) {
    const model::Revision& other = each.second->facts();
    return other.in_service && other.service == own.service;
  });
}

std::optional<Problem> Mover::why_not_by_hand(const RevisionId& revision, PlaceId to) const {
  const auto known = parts_.placement.find(revision);
  const auto found = parts_.fleet.revisions().find(revision);
  if (!known || found == parts_.fleet.revisions().end()) {
    return Problem{revision.name + " does not run", "see: sluice get"};
  }
  const std::string& service = found->second->facts().service;
  if (found->second->facts().one_at_a_time && !found->second->pods().empty()) {
    return Problem{service + " cannot be moved: it has a fixed port, so that two replicas of it " +
                       "cannot run beside each other",
                   "let it listen on $PORT, or move it while it sleeps"};
  }
  if (!known->order->tier_of(to)) {
    return Problem{service + " may not run in " + parts_.placement.ledger().place(to).name,
                   "change the placement.sluice.dev keys of its template"};
  }
  if (is_replaced(*found->second)) {
    return Problem{service + " is not moved now: another revision is about to take the place of " +
                       revision.name,
                   "move it when that one serves; see: sluice revisions " + service};
  }
  return std::nullopt;
}

Result<Mover::Begun, Problem> Mover::move(std::span<const RevisionId> revisions,
                                          const std::string& to) {
  const auto place = place_named(to);
  if (!place) return place.error();
  placement::Ledger& ledger = parts_.placement.ledger();
  if (ledger.place(*place).state == placement::PlaceState::draining) {
    return Problem{to + " is being drained", "sluice undrain " + to};
  }
  begin_cycle();
  std::vector<placement::Source> sources;
  std::vector<RevisionId> asleep;
  std::vector<ServiceId> busy;
  for (const RevisionId& revision : revisions) {
    if (auto problem = why_not_by_hand(revision, *place)) return *problem;
    const ServiceId service = parts_.placement.find(revision)->id;
    const std::int64_t all = parts_.placement.count(service, *place);
    const std::size_t before = sources.size();
    for (const PlaceId each : ledger.places()) {
      const bool some = each != *place && parts_.placement.count(service, each) > 0;
      if (some) sources.push_back({.service = service, .place = each});
    }
    if (all == 0 && sources.size() == before) asleep.push_back(revision);
    if (!moves_.pending(service)) continue;
    // Where its replicas are when the moves before have ended is seen then.
    if (all > 0 || sources.size() > before) busy.push_back(service);
    sources.resize(before);
  }
  const auto planned = placement::move_to(ledger, *this, sources, *place);
  if (!planned) return no_room_to_move(sources, *place);
  Starts starts{.left = starts_left()};
  for (const placement::PlannedMove& one : *planned) starts.needed += std::ssize(one.to_nodes);
  if (starts.needed > starts.left) {
    return Problem{no_starts_words(starts),
                   "raise it in config.yaml for the next start, or let others sleep"};
  }
  Begun begun{.asleep = asleep.size() == revisions.size()};
  for (const RevisionId& each : asleep) parts_.placement.prefer(each, *place);
  for (const placement::PlannedMove& one : *planned) {
    if (const auto id = add(one, MoveCause::hand)) begun.moves.push_back(*id);
  }
  for (const ServiceId service : busy) begin_later(service, *place, begun);
  look();
  return begun;
}

void Mover::begin_later(ServiceId service, PlaceId to, Begun& begun) {
  const Revision* const revision = revision_of(service);
  if (revision == nullptr) return;
  for (const PlaceId each : parts_.placement.ledger().places()) {
    if (each == to) continue;
    const auto id = moves_.add({.service = service,
                                .from = each,
                                .to = to,
                                .spec = spec_of(*revision, each, to, MoveCause::hand)},
                               parts_.clock.now());
    if (id) begun.moves.push_back(*id);
  }
}

// Of what the place has no room for, the words for the first service that has none there.
Problem Mover::no_room_to_move(std::span<const placement::Source> sources, PlaceId to) const {
  const placement::Ledger& ledger = parts_.placement.ledger();
  const std::string& name = ledger.place(to).name;
  std::string why;
  placement::Refusal refusal;
  std::int32_t replicas = 0;
  for (const placement::Source& source : sources) {
    replicas += parts_.placement.count(source.service, source.place);
    const auto known = parts_.placement.find(source.service);
    if (!why.empty() || !known) continue;
    refusal = placement::choose_in(ledger,
                                   {.service = known->id,
                                    .need = known->each,
                                    .order = known->order,
                                    .max_per_node = known->wish->max_per_node},
                                   to)
                  .refusal;
    why = placement::refusal_words(ledger, refusal, {});
  }
  const ServiceId first = sources.front().service;
  if (why.empty()) {
    why = name + " has room for " + placement::counted(parts_.placement.room(first, to), "replica");
  }
  return {why + "; " + service_name(first) + " has " + placement::counted(replicas, "replica") +
              " to move",
          placement::refused(refusal.reason) ? "give " + name + " more in config.yaml"
                                             : "make room there first: sluice places"};
}

// What moves that wait will start is not in the ledger yet.
std::int64_t Mover::starts_left() const {
  const std::int64_t promised =
      moves_.to_start([this](placement::MoveId move) { return parts_.placement.reserved(move); });
  return std::max<std::int64_t>(0, parts_.placement.spare() - promised);
}

std::string Mover::no_starts_words(const Starts& starts) const {
  return parts_.placement.spare_bound() + " leaves " + placement::counted(starts.left, "replica") +
         " to start, and a move of " + placement::counted(starts.needed, "replica") +
         " starts as many before they go";
}

}  // namespace sluice::autoscaler
