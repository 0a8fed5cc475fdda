// Places that a person drains: what leaves them, and what stays and why.

#include "autoscaler/placement/core/words.h"
#include "autoscaler/placement/io/mover.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

using placement::MoveCause;
using placement::PlaceId;

std::optional<Problem> Mover::drain(const std::string& place) {
  const auto found = place_named(place);
  if (!found) return found.error();
  placement::Ledger& ledger = parts_.placement.ledger();
  placement::Place changed = ledger.place(*found);
  changed.state = placement::PlaceState::draining;
  ledger.update_place(*found, std::move(changed));
  drains_[*found] = {};
  parts_.place_news(place);
  parts_.fleet.room_changed();
  look();
  return std::nullopt;
}

std::optional<Problem> Mover::undrain(const std::string& place) {
  const auto found = place_named(place);
  if (!found) return found.error();
  placement::Ledger& ledger = parts_.placement.ledger();
  placement::Place changed = ledger.place(*found);
  changed.state = placement::PlaceState::ready;
  ledger.update_place(*found, std::move(changed));
  drains_.erase(*found);
  parts_.place_news(place);
  parts_.fleet.room_changed();
  return std::nullopt;
}

const Mover::Drain* Mover::drain_of(const std::string& place) const {
  const auto id = parts_.placement.ledger().find_place(place);
  if (!id) return nullptr;
  const auto found = drains_.find(*id);
  return found == drains_.end() ? nullptr : &found->second;
}

// `again`: of the places from which nothing more could leave.
void Mover::evacuate(bool again) {
  std::vector<std::string> news;
  for (auto& [place, drain] : drains_) {
    if (drain.over == again && take_out(place, drain)) {
      news.push_back(parts_.placement.ledger().place(place).name);
    }
  }
  for (const std::string& place : news) parts_.place_news(place);
}

// Begins the moves of one batch, and lists what stays. Whether that is news: it is over, or has
// begun again, or the last that had stayed has gone.
bool Mover::take_out(PlaceId place, Drain& drain) {
  const std::int32_t leaving = moves_.leaving(place);
  if (leaving >= rules_.moves.drain_batch) return false;
  const auto found = placement::evacuate(
      parts_.placement.ledger(), *this, parameters_, policy_for(rules_.policies, MoveCause::drain),
      place, {.replicas_max = rules_.moves.drain_batch - leaving, .starts_max = starts_left()});
  const bool was_over = drain.over;
  const bool stayed = !drain.remaining.empty();
  drain.remaining.clear();
  bool begun = false;
  for (const placement::PlannedMove& one : found.moves) {
    if (add(one, MoveCause::drain)) {
      begun = true;
    } else if (const Revision* const revision = revision_of(one.service)) {
      const std::string why = refusal_of(*revision, one);
      if (!why.empty()) drain.remaining.push_back(revision->facts().service + ": " + why);
    }
  }
  for (const auto& each : found.remaining) {
    const Revision* const revision = revision_of(each.service);
    if (revision == nullptr) continue;
    drain.remaining.push_back(revision->facts().service + ": " + why_it_stays(each, place));
  }
  drain.over = !begun && !found.more && found.moving == 0 && leaving == 0;
  return drain.over != was_over || (drain.over && stayed && drain.remaining.empty());
}

std::string Mover::refusal_of(const Revision& revision,
                              const placement::PlannedMove& planned) const {
  return moves_.refusal({.service = planned.service,
                         .from = planned.from,
                         .to = planned.to,
                         .spec = spec_of(revision, planned.from, planned.to, MoveCause::drain)},
                        parts_.clock.now());
}

std::string Mover::why_it_stays(const placement::Evacuation::Remaining& one, PlaceId place) const {
  const auto known = parts_.placement.find(one.service);
  if (one.reason == placement::Stays::pinned || !known) {
    const Revision* const revision = revision_of(one.service);
    const bool single = revision != nullptr && revision->facts().one_at_a_time;
    return single ? "it has a fixed port, so that two replicas cannot run beside each other"
                  : "it may not be moved";
  }
  if (one.reason == placement::Stays::no_starts) {
    return no_starts_words(
        {.left = starts_left(), .needed = parts_.placement.count(one.service, place)});
  }
  const std::string paused = barred_words(one.service);
  if (one.reason == placement::Stays::no_match) {
    return paused.empty() ? "no other place matches" : paused;
  }
  std::string why = placement::why_no_node(parts_.placement.ledger(),
                                           {.service = known->id,
                                            .need = known->each,
                                            .order = known->order,
                                            .max_per_node = known->wish->max_per_node,
                                            .not_in = place},
                                           *known->wish, {});
  if (!paused.empty()) why += (why.empty() ? "" : "; ") + paused;
  return why.empty() ? "no other place has room for all of it" : why;
}

void Mover::note(const placement::MoveRecord& record) {
  if (record.cause != MoveCause::drain) return;
  const auto place = parts_.placement.ledger().find_place(record.from);
  const auto found = place ? drains_.find(*place) : drains_.end();
  if (found == drains_.end()) return;
  found->second.cut += record.cut;
  if (record.end != placement::MoveEnd::done) return;
  ++found->second.services;
  found->second.replicas += record.drained;
}

}  // namespace sluice::autoscaler
