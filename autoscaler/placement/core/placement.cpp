#include "autoscaler/placement/core/placement.h"

#include "common/base/check.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::placement {
namespace {

const model::PlacementWish kNoWish;

}  // namespace

struct Placement::Asking {
  const RevisionId& revision;
  const RevisionDemand& demand;
  Known& known;
  std::int32_t now = 0;  // starts that meet the gate in this turn
  std::int32_t nth = 0;  // the one that looks for room, of those to come
  Refusal refusal{};     // of the last one that found none
};

Grant Placement::ask(const RevisionId& revision, const RevisionDemand& demand) {
  CHECK(demand.each.slots == 1);
  asked_at_ = demand.now;
  if (const auto due = ledger_.next_expiry(); due && *due <= demand.now) {
    (void)ledger_.expire(demand.now);
  }
  Known& known = know(revision, demand);
  count(demand);
  redeem(known, demand.now);
  if (!present_.empty()) known.first.reset();
  hold(known);
  Grant grant{.replicas = demand.wanted};
  if (demand.forced) {
    drop_promises(known, std::numeric_limits<std::int32_t>::max(), demand.now);
  } else {
    const Site::Terms terms = site_.terms(revision, demand, held(known));
    const std::int32_t wanted = std::min(demand.wanted, terms.most);
    const std::int32_t there = std::min(wanted, terms.there);
    const std::int32_t most = demand.moving ? there : wanted;
    Asking asking{.revision = revision, .demand = demand, .known = known, .now = terms.now};
    open_kept(known, demand.now);
    const std::int32_t started = grow(asking, std::max(0, there - placed_), most - there);
    if (there + started < most) {
      close_kept(known);
    } else {
      known.kept.clear();
    }
    grant.replicas = there + started;
    if (grant.replicas < most) {
      refuse(asking, grant);
    } else if (terms.missing && !demand.moving) {
      grant.missing = terms.missing;
    }
    if (grant.missing) grant.missing->count = demand.wanted - grant.replicas;
  }
  if (ledger_.places().size() > 1 || site_.names_only_place()) {
    grant.places = shares(known, grant.replicas);
  }
  return grant;
}

std::int64_t Placement::held(const Known& known) const {
  std::int64_t replicas = 0;
  for (const Presence& each : present_) replicas += each.replicas;
  for (const Promise& each : known.promises) replicas += each.replicas;
  return replicas;
}

void Placement::refuse(const Asking& asking, Grant& grant) {
  grant.ask_again = site_.rested(asking.demand.each);
  if (grant.ask_again) return;
  Missing missing{.reason = asking.refusal.reason};
  site_.explain(asking.revision, asking.demand, asking.refusal, missing);
  if (asking.refusal.reason != Reason::gate_later) grant.missing = std::move(missing);
}

void Placement::forget(const RevisionId& revision) {
  const auto found = known_.find(revision);
  if (found == known_.end()) return;
  Known& known = found->second;
  present_.clear();
  hold(known);
  for (const Promise& promise : known.promises) (void)ledger_.release(promise.id);
  for (const Kept& kept : known.kept) (void)ledger_.release(kept.id);
  spare_.push_back(known.service);
  by_service_[index_of(known.service)] = nullptr;
  known_.erase(found);
}

Placement::Known& Placement::know(const RevisionId& revision, const RevisionDemand& demand) {
  const model::PlacementWish& wish = demand.wish == nullptr ? kNoWish : *demand.wish;
  auto found = known_.find(revision);
  if (found == known_.end()) {
    found = known_.try_emplace(revision).first;
    if (spare_.empty()) {
      found->second.service = ServiceId{next_++};
    } else {
      found->second.service = spare_.back();
      spare_.pop_back();
    }
  }
  Known& known = found->second;
  const std::size_t index = index_of(known.service);
  if (by_service_.size() <= index) by_service_.resize(index + 1);
  by_service_[index] = &*found;
  known.each = demand.each;
  if (!known.order || known.order->outdated(ledger_) || known.wish != wish) {
    known.wish = wish;
    known.order.emplace(ledger_, known.wish);
  }
  return known;
}

// Into present_. A replica whose node is not known may still come to any: what was promised for it
// stays. One on a node without a gate claims nothing.
void Placement::count(const RevisionDemand& demand) {
  present_.clear();
  placed_ = 0;
  const bool reports_settled = site_.reports_settled();
  for (const ReplicaAt& replica : demand.replicas) {
    const auto node = site_.find(replica.node);
    if (!replica.leaving && (node || replica.settled || !replica.node.empty())) ++placed_;
    if (!node) continue;
    auto at = std::find_if(present_.begin(), present_.end(),
                           [&node](const Presence& each) { return each.node == *node; });
    if (at == present_.end()) at = present_.insert(at, {.node = *node});
    if (!replica.settled || !reports_settled) ++at->replicas;
    if (!replica.leaving) ++(replica.chosen ? at->chosen : at->staying);
  }
}

// Replicas that have appeared since the last call were promised room: where they are, or elsewhere.
void Placement::redeem(Known& known, TimePoint now) {
  std::int32_t appeared = placed_ - known.placed;
  known.placed = placed_;
  for (const Presence& each : present_) {
    const auto before = static_cast<std::int32_t>(used_on(known.service, each.node).slots);
    const std::int32_t more = each.replicas - before;
    if (more <= 0) continue;
    appeared -= more;
    const std::int32_t left = more - redeem_move(known.service, each.node, more);
    for (Promise& promise : known.promises) {
      if (promise.node != each.node || left == 0) continue;
      shrink(known, promise, std::min(left, promise.replicas), now);
      break;
    }
  }
  for (Promise& promise : known.promises) {
    if (appeared <= 0) break;
    const std::int32_t fewer = std::min(appeared, promise.replicas);
    appeared -= fewer;
    shrink(known, promise, fewer, now);
  }
  std::erase_if(known.promises, [](const Promise& each) { return each.replicas == 0; });
}

void Placement::shrink(const Known& known, Promise& promise, std::int32_t fewer, TimePoint now) {
  if (fewer < promise.replicas) {
    resize(known, promise, promise.replicas - fewer, now);
    return;
  }
  (void)ledger_.release(promise.id);
  promise.replicas = 0;
}

// Makes the ledger hold what is present.
void Placement::hold(const Known& known) {
  gone_.clear();
  for (const Holding& holding : ledger_.holdings(known.service)) {
    const bool here = std::any_of(present_.begin(), present_.end(), [&](const Presence& each) {
      return each.node == holding.node && each.replicas > 0;
    });
    if (!here && holding.used != Resources{}) gone_.push_back(holding);
  }
  for (const Holding& holding : gone_) give_back(known, holding.node, holding.used);
  for (const Presence& each : present_) {
    if (each.replicas == 0) continue;
    const Resources used = known.each * each.replicas;
    const Resources before = used_on(known.service, each.node);
    if (before == used) continue;
    if (before == known.each * before.slots && before.slots > each.replicas) {
      give_back(known, each.node, known.each * (before.slots - each.replicas));
      continue;
    }
    if (before != Resources{}) ledger_.give_back(each.node, known.service, before);
    ledger_.take(each.node, known.service, used);
  }
}

Resources Placement::used_on(ServiceId service, NodeId node) const {
  for (const Holding& holding : ledger_.holdings(service)) {
    if (holding.node == node) return holding.used;
  }
  return {};
}

// What has expired or gone with its node is no promise any more. Returns how many replicas the
// others are for.
std::int32_t Placement::keep_promises(Known& known, TimePoint now) {
  std::erase_if(known.promises,
                [this](const Promise& each) { return ledger_.find(each.id) == nullptr; });
  std::int32_t replicas = 0;
  for (Promise& each : known.promises) {
    const Reservation& kept = *ledger_.find(each.id);
    const bool stale = kept.expires < now + kPromised / 2 || kept.expires > now + kPromised;
    if (stale || kept.room != known.each * each.replicas) resize(known, each, each.replicas, now);
    replicas += each.replicas;
  }
  return replicas;
}

void Placement::resize(const Known& known, Promise& promise, std::int32_t replicas, TimePoint now) {
  if (promise.replicas > 0) (void)ledger_.release(promise.id);
  promise.replicas = replicas;
  promise.id = ledger_.reserve({.owner = Owner::of(known.service),
                                .service = known.service,
                                .node = promise.node,
                                .room = known.each * replicas,
                                .expires = now + kPromised});
}

void Placement::promise(Known& known, const Choice& choice, std::int32_t replicas, TimePoint now) {
  auto at = std::find_if(known.promises.begin(), known.promises.end(),
                         [&choice](const Promise& each) { return each.node == *choice.node; });
  if (at == known.promises.end()) {
    at = known.promises.insert(at, {.node = *choice.node, .place = choice.place});
  }
  resize(known, *at, at->replicas + replicas, now);
}

// Those in the least liked place first; of these the ones that were made last.
void Placement::drop_promises(Known& known, std::int32_t surplus, TimePoint now) {
  while (surplus > 0 && !known.promises.empty()) {
    auto worst = known.promises.begin();
    for (auto at = worst; at != known.promises.end(); ++at) {
      if (tier_of(known, at->place) >= tier_of(known, worst->place)) worst = at;
    }
    const std::int32_t fewer = std::min(surplus, worst->replicas);
    surplus -= fewer;
    shrink(known, *worst, fewer, now);
    if (worst->replicas > 0) return;
    known.promises.erase(worst);
  }
}

Choice Placement::find_room(const Asking& asking, const Gate& gate) const {
  const Demand demand{.service = asking.known.service,
                      .need = asking.known.each,
                      .order = &*asking.known.order,
                      .max_per_node = asking.known.wish.max_per_node};
  if (asking.known.first && present_.empty()) {
    Choice first = choose_in(ledger_, demand, *asking.known.first, gate);
    if (first.node) return first;
  }
  return choose(ledger_, demand, gate);
}

// As many of `left` as may go to the node that was chosen for one.
std::int32_t Placement::together(const Asking& asking, NodeId node, std::int32_t left) {
  std::int64_t most = left;
  if (asking.known.wish.max_per_node > 0) return 1;
  if (asking.nth < asking.now) {
    most = std::min(most, 1 + site_.on_start(node, asking.demand.now));
  }
  most = std::min(most, times(ledger_.free(node), asking.known.each));
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, most));
}

NodeId Placement::promised_node(const Known& known, std::int32_t nth) {
  for (const Promise& each : known.promises) {
    if (nth < each.replicas) return each.node;
    nth -= each.replicas;
  }
  CHECK(false);
}

// Keeps room for `owed` replicas that are on their way, and for as many of the `missing` ones as
// there is room for; returns how many these are.
std::int32_t Placement::grow(Asking& asking, std::int32_t owed, std::int32_t missing) {
  Known& known = asking.known;
  const TimePoint now = asking.demand.now;
  std::int32_t promised = keep_promises(known, now);
  // They come whatever the gates say.
  while (promised < owed) {
    const Choice choice = find_room(asking, {});
    if (!choice.node) break;
    const std::int32_t more = static_cast<std::int32_t>(std::min<std::int64_t>(
        owed - promised, std::max<std::int64_t>(1, times(ledger_.free(*choice.node), known.each))));
    promise(known, choice, more, now);
    promised += more;
  }
  const Gate gate = [this, &asking](NodeId node, const Resources& need) {
    if (asking.nth >= asking.now) return GateAnswer{};
    return site_.may_start(asking.revision, asking.nth, node, need, asking.demand.now);
  };
  std::int32_t& started = asking.nth;
  while (started < missing) {
    if (owed + started < promised) {
      const NodeId node = promised_node(known, owed + started);
      const GateAnswer answer = gate(node, known.each);
      if (!answer.granted) {
        asking.refusal = {.reason = answer.later ? Reason::gate_later : Reason::gate,
                          .place = ledger_.node(node).place,
                          .free = answer.free,
                          .needed = answer.claim};
        break;
      }
      started = started < asking.now ? started + 1 : std::min(missing, promised - owed);
      continue;
    }
    const Choice choice = find_room(asking, gate);
    if (!choice.node) {
      asking.refusal = choice.refusal;
      break;
    }
    const std::int32_t more = together(asking, *choice.node, missing - started);
    promise(known, choice, more, now);
    promised += more;
    started += more;
  }
  drop_promises(known, promised - owed - started, now);
  return started;
}

// What exists and what is promised, the most liked place first.
void Placement::list_places(const Known& known) {
  in_.clear();
  // Places of one tier stay in the order in which they were found.
  const auto in = [&](PlaceId place) -> In& {
    const auto found = std::find_if(in_.begin(), in_.end(),
                                    [place](const In& each) { return each.place == place; });
    if (found != in_.end()) return *found;
    const std::uint32_t tier = tier_of(known, place);
    const auto at =
        std::find_if(in_.begin(), in_.end(), [tier](const In& each) { return each.tier > tier; });
    return *in_.insert(at, {.place = place, .tier = tier});
  };
  for (const PlaceOrder::Entry& entry : known.order->entries()) (void)in(entry.place);
  for (const Presence& each : present_) {
    In& place = in(ledger_.node(each.node).place);
    place.replicas += each.staying;
    place.chosen += each.chosen;
  }
  for (const Promise& each : known.promises) in(each.place).replicas += each.replicas;
}

// What is too many goes from the least liked place; what is too few is kept of those that were to
// go, and else meant for the most liked.
std::span<const PlaceShare> Placement::shares(const Known& known, std::int32_t replicas) {
  list_places(known);
  std::int32_t there = 0;
  for (const In& each : in_) there += each.replicas;
  for (auto at = in_.rbegin(); at != in_.rend() && there > replicas; ++at) {
    const std::int32_t fewer = std::min(at->replicas, there - replicas);
    at->replicas -= fewer;
    there -= fewer;
  }
  for (auto at = in_.begin(); at != in_.end() && there < replicas; ++at) {
    const std::int32_t more = std::min(at->chosen, replicas - there);
    at->replicas += more;
    there += more;
  }
  if (there < replicas && !in_.empty()) in_.front().replicas += replicas - there;
  if (shares_.size() < in_.size()) shares_.resize(in_.size());
  std::size_t count = 0;
  for (const In& each : in_) {
    if (each.replicas <= 0) continue;
    shares_[count].place = ledger_.place(each.place).name;
    shares_[count].replicas = each.replicas;
    ++count;
  }
  return std::span{shares_}.first(count);
}

// A place that is being drained, or that it may no longer use, is liked least.
std::uint32_t Placement::tier_of(const Known& known, PlaceId place) const {
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
  if (ledger_.place(place).state == PlaceState::draining) return kLast;
  return known.order->tier_of(place).value_or(kLast);
}

}  // namespace sluice::placement
