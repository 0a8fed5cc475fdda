#include "autoscaler/placement/core/choice.h"

#include "common/base/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

namespace sluice::placement {
namespace {

// Nodes that are rated in one place for one replica: more would cost time and hardly find a better
// one.
constexpr std::size_t kCandidates = 32;
// Nodes that are looked at where many may turn out to be too full.
constexpr std::size_t kLooks = 256;
constexpr std::size_t kNoBound = static_cast<std::size_t>(-1);

constexpr std::uint64_t from_bucket(std::size_t bucket) {
  return ~std::uint64_t{0} << bucket;
}

using Entries = std::span<const PlaceOrder::Entry>;

struct Rated {
  NodeId node{};
  Ppm score = 0;
  std::int64_t count = 0;  // of the same service there

  // Better ones first.
  friend bool operator<(const Rated& left, const Rated& right) {
    return std::tuple{-left.score, left.count, left.node} <
           std::tuple{-right.score, right.count, right.node};
  }
};

// What was met in a place where no node was found.
struct Met {
  bool limited = false;  // a node with room has as many of the service as it may
  std::optional<GateAnswer> gate{};
};

Ppm score_of(const Place& place, const Resources& capacity, const Resources& filled) {
  constexpr std::int64_t kWeightOne = 1000;
  const std::array<std::pair<std::int64_t, std::int64_t>, 3> parts{
      {{filled.cpu, capacity.cpu},
       {filled.memory, capacity.memory},
       {filled.slots, capacity.slots}}};
  Ppm sum = 0;
  Ppm most = 0;
  Ppm least = kWhole;
  std::int64_t bounded = 0;
  for (const auto& [part, whole] : parts) {
    if (whole >= kUnbounded) continue;
    const Ppm share = std::min(share_of(part, whole), kWhole);
    sum += share;
    most = std::max(most, share);
    least = std::min(least, share);
    ++bounded;
  }
  if (bounded == 0) return 0;
  const Ppm full = sum / bounded;
  const Ppm fit = place.packing == Packing::pack ? full : kWhole - full;
  return (place.weights.fit * fit + place.weights.balance * (kWhole - (most - least))) / kWeightOne;
}

// One search: what it is for, and what it met.
class Search {
 public:
  Search(const Ledger& ledger, const Demand& demand, const Gate& gate, bool whatever_state)
      : ledger_(ledger), demand_(demand), gate_(gate), whatever_state_(whatever_state) {}

  // The best node of several places; the gate is asked last, of one node after the other.
  [[nodiscard]] std::optional<NodeId> find(Entries places) {
    std::optional<Rated> last;
    while (const auto best = best_after(places, last)) {
      if (admitted(best->node)) return best->node;
      last = best;
    }
    if (!last || !cut_short_) return std::nullopt;
    return first_admitted(places);
  }

  [[nodiscard]] const Met& met() const { return met_; }

 private:
  [[nodiscard]] bool open(PlaceId place) const {
    if (demand_.not_in == place) return false;
    return whatever_state_ || ledger_.place(place).state == PlaceState::ready;
  }

  [[nodiscard]] bool admitted(NodeId node) {
    if (!gate_) return true;
    const GateAnswer answer = gate_(node, demand_.need);
    if (!answer.granted && (!met_.gate || answer.free > met_.gate->free)) met_.gate = answer;
    return answer.granted;
  }

  // Whether the replica may go there, as far as the ledger says.
  [[nodiscard]] bool holds(NodeId node) {
    if (!fits(demand_.need, ledger_.free(node)) || demand_.not_on == node) return false;
    if (demand_.max_per_node <= 0 || ledger_.count(node, demand_.service) < demand_.max_per_node) {
      return true;
    }
    met_.limited = true;
    return false;
  }

  // Calls `visit` with nodes of the place that hold the replica until it returns false; with all of
  // them if `all`, else perhaps not with those that are hard to find.
  template <class Visit>
  void walk(PlaceId id, bool all, const Visit& visit) {
    const auto nodes = ledger_.nodes(id);
    if (nodes.size() <= kCandidates) {
      for (const NodeId node : nodes) {
        if (ledger_.node(node).takes() && holds(node) && !visit(node)) return;
      }
      return;
    }
    const NodeIndex& index = ledger_.index(id);
    const bool upwards = ledger_.place(id).packing == Packing::pack;
    const std::uint64_t possible = index.occupied() & from_bucket(index.lowest(demand_.need));
    const std::uint64_t safe = possible & from_bucket(index.safe(demand_.need));
    const auto over = [&](std::uint64_t buckets, std::size_t looks) {
      return walk_buckets(index, buckets, upwards, looks, visit);
    };
    if (all) {
      (void)over(possible, kNoBound);
      return;
    }
    // Nodes of the lower buckets may be short of one thing or another: when they come first, they
    // get so many looks, and all of them only when there is nothing else.
    const Walked first = upwards ? over(possible & ~safe, kLooks) : Walked{};
    if (first.stopped) return;
    const Walked second = over(safe, kNoBound);
    if (second.stopped || first.found || second.found) return;
    (void)over(possible & ~safe, kNoBound);
  }

  struct Walked {
    bool stopped = false;  // by `visit`
    bool found = false;    // a node that holds the replica
  };

  template <class Visit>
  [[nodiscard]] Walked walk_buckets(const NodeIndex& index, std::uint64_t buckets, bool upwards,
                                    std::size_t looks, const Visit& visit) {
    Walked walked;
    while (buckets != 0) {
      const auto bucket = upwards ? static_cast<std::size_t>(std::countr_zero(buckets))
                                  : static_cast<std::size_t>(std::bit_width(buckets)) - 1;
      buckets &= ~(std::uint64_t{1} << bucket);
      for (std::size_t at = index.next(bucket, 0); at != NodeIndex::kNone;
           at = index.next(bucket, at + 1)) {
        if (looks-- == 0) return walked;
        const NodeId node = index.at(at);
        if (!holds(node)) continue;
        walked.found = true;
        walked.stopped = !visit(node);
        if (walked.stopped) return walked;
      }
    }
    return walked;
  }

  // The best of those that are worse than `last`.
  [[nodiscard]] std::optional<Rated> best_after(Entries places, const std::optional<Rated>& last) {
    std::optional<Rated> best;
    for (const PlaceOrder::Entry& entry : places) {
      if (!open(entry.place)) continue;
      const Place& place = ledger_.place(entry.place);
      std::size_t rated = 0;
      walk(entry.place, false, [&](NodeId node) {
        const Resources& capacity = ledger_.node(node).capacity;
        const Resources filled = capacity - ledger_.free(node) + demand_.need;
        const Rated found{node, score_of(place, capacity, filled),
                          ledger_.count(node, demand_.service)};
        if ((!last || *last < found) && (!best || found < *best)) best = found;
        return ++rated < kCandidates;
      });
      cut_short_ = cut_short_ || ledger_.nodes(entry.place).size() > kCandidates;
    }
    return best;
  }

  // When the gates of all that were rated refuse, whether any other admits it.
  [[nodiscard]] std::optional<NodeId> first_admitted(Entries places) {
    std::optional<NodeId> found;
    for (const PlaceOrder::Entry& entry : places) {
      if (found || !open(entry.place)) continue;
      walk(entry.place, true, [&](NodeId node) {
        if (admitted(node)) found = node;
        return !found;
      });
    }
    return found;
  }

  const Ledger& ledger_;  // these three are the caller's
  const Demand& demand_;
  const Gate& gate_;
  bool whatever_state_;
  bool cut_short_ = false;  // not all nodes were rated
  Met met_;
};

// Of what no node has enough even when it is empty.
Refusal too_big(const Ledger& ledger, const Demand& demand, PlaceId place) {
  Resources largest;
  for (const NodeId node : ledger.nodes(place)) {
    const Resources& capacity = ledger.node(node).capacity;
    largest = {std::max(largest.cpu, capacity.cpu), std::max(largest.memory, capacity.memory),
               std::max(largest.slots, capacity.slots)};
  }
  Refusal refusal{.reason = Reason::too_big, .place = place};
  if (demand.need.slots > largest.slots) {
    refusal.resource = Reason::slots;
    refusal.free = largest.slots;
    refusal.needed = demand.need.slots;
  } else if (demand.need.memory > largest.memory || demand.need.cpu <= largest.cpu) {
    refusal.resource = Reason::memory;
    refusal.free = largest.memory;
    refusal.needed = demand.need.memory;
  } else {
    refusal.resource = Reason::cpu;
    refusal.free = largest.cpu;
    refusal.needed = demand.need.cpu;
  }
  return refusal;
}

// What a place as a whole is short of.
Refusal shortage(const Ledger& ledger, const Demand& demand, PlaceId place) {
  const Resources free = ledger.totals(place).free();
  const Resources& need = demand.need;
  Refusal refusal{.place = place};
  if (!fits({.slots = need.slots}, free)) {
    refusal.reason = Reason::slots;
    refusal.free = free.slots;
    refusal.needed = need.slots;
  } else if (!fits({.memory = need.memory}, free)) {
    refusal.reason = Reason::memory;
    refusal.free = free.memory;
    refusal.needed = need.memory;
  } else if (!fits({.cpu = need.cpu}, free)) {
    refusal.reason = Reason::cpu;
    refusal.free = free.cpu;
    refusal.needed = need.cpu;
  }
  return refusal;
}

Refusal refusal_in(const Ledger& ledger, const Demand& demand, PlaceId place, const Met& met) {
  if (!ledger.could_hold(place, demand.need)) return too_big(ledger, demand, place);
  if (ledger.nodes(place).empty()) return {.reason = Reason::pressure, .place = place};
  Refusal refusal = shortage(ledger, demand, place);
  if (refusal.reason != Reason::none) return refusal;
  if (met.gate) {
    refusal.reason = met.gate->later ? Reason::gate_later : Reason::gate;
    refusal.free = met.gate->free;
    refusal.needed = met.gate->claim;
  } else if (met.limited) {
    refusal.reason = Reason::node_limit;
    refusal.needed = demand.max_per_node;
  } else {
    refusal.reason = ledger.index(place).taking() == 0 ? Reason::pressure : Reason::fragmented;
  }
  return refusal;
}

}  // namespace

PlaceOrder::PlaceOrder(const Ledger& ledger, const model::PlacementWish& wish)
    : version_(ledger.places_version()) {
  struct Liked {
    std::size_t rank;  // in wish.clusters; behind all of them when it is not named
    std::int32_t preference;
    PlaceId place;
  };

  std::vector<Liked> liked;
  for (const PlaceId id : ledger.places()) {
    const Place& place = ledger.place(id);
    const auto named = std::find(wish.clusters.begin(), wish.clusters.end(), place.name);
    const bool others = wish.any || wish.clusters.empty();
    if (named == wish.clusters.end() && !others) continue;
    if (!wish.pin.empty() && wish.pin != place.name) continue;
    if (!wish.where.empty() && !wish.where.matches(place.labels)) continue;
    const bool is_named = named != wish.clusters.end();
    liked.push_back({static_cast<std::size_t>(named - wish.clusters.begin()),
                     is_named ? 0 : place.preference, id});
  }
  const auto key = [](const Liked& each) { return std::pair{each.rank, each.preference}; };
  std::sort(liked.begin(), liked.end(), [&](const Liked& left, const Liked& right) {
    return std::pair{key(left), left.place} < std::pair{key(right), right.place};
  });
  for (std::size_t at = 0; at < liked.size(); ++at) {
    const bool new_tier = at > 0 && key(liked[at]) != key(liked[at - 1]);
    const std::uint32_t tier = at == 0 ? 0 : entries_.back().tier + (new_tier ? 1 : 0);
    entries_.push_back({liked[at].place, tier});
  }
}

std::optional<std::uint32_t> PlaceOrder::tier_of(PlaceId place) const {
  for (const Entry& entry : entries_) {
    if (entry.place == place) return entry.tier;
  }
  return std::nullopt;
}

PlaceOrder PlaceOrder::without(PlaceId place) const {
  PlaceOrder others = *this;
  std::erase_if(others.entries_, [place](const Entry& entry) { return entry.place == place; });
  return others;
}

PlaceOrder PlaceOrder::above(std::uint32_t tier) const {
  PlaceOrder better = *this;
  std::erase_if(better.entries_, [tier](const Entry& entry) { return entry.tier >= tier; });
  return better;
}

std::string_view name(Reason reason) {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::no_matching_place:
      return "no_matching_place";
    case Reason::too_big:
      return "too_big";
    case Reason::place_away:
      return "place_away";
    case Reason::slots:
      return "slots";
    case Reason::cpu:
      return "cpu";
    case Reason::memory:
      return "memory";
    case Reason::fragmented:
      return "fragmented";
    case Reason::pressure:
      return "pressure";
    case Reason::node_limit:
      return "node_limit";
    case Reason::gate:
      return "gate";
    case Reason::gate_later:
      return "gate_later";
  }
  return "none";
}

Choice choose(const Ledger& ledger, const Demand& demand, const Gate& gate) {
  CHECK(demand.order != nullptr);
  const Entries all = demand.order->entries();
  Search search{ledger, demand, gate, false};
  for (auto first = all.begin(); first != all.end();) {
    const std::uint32_t tier = first->tier;
    const auto last =
        std::find_if(first, all.end(), [tier](const auto& entry) { return entry.tier != tier; });
    if (const auto node = search.find(Entries{first, last})) {
      return {.node = node, .place = ledger.node(*node).place, .tier = tier};
    }
    first = last;
  }
  std::optional<PlaceId> away;
  std::optional<PlaceId> small;
  for (const PlaceOrder::Entry& entry : all) {
    if (demand.not_in == entry.place) continue;
    if (!ledger.could_hold(entry.place, demand.need)) {
      if (!small) small = entry.place;
    } else if (ledger.place(entry.place).state != PlaceState::ready) {
      if (!away) away = entry.place;
    } else {
      Choice none = choose_in(ledger, demand, entry.place, gate);
      none.tier = entry.tier;
      return none;
    }
  }
  if (away) return {.refusal = {.reason = Reason::place_away, .place = *away}};
  if (small) return {.refusal = too_big(ledger, demand, *small)};
  return {.refusal = {.reason = Reason::no_matching_place}};
}

Choice choose_in(const Ledger& ledger, const Demand& demand, PlaceId place, const Gate& gate) {
  const std::array<PlaceOrder::Entry, 1> only{{{place, 0}}};
  Search search{ledger, demand, gate, true};
  if (const auto node = search.find(only)) return {.node = node, .place = place};
  return {.refusal = refusal_in(ledger, demand, place, search.met())};
}

}  // namespace sluice::placement
