#include "autoscaler/placement/core/words.h"

#include "common/values/closest_name.h"

#include <algorithm>
#include <vector>

namespace sluice::placement {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
constexpr std::int64_t kCore = 1000;  // millicores
constexpr std::size_t kPlacesShown = 4;

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    text.append(text.empty() ? std::string_view{} : separator).append(part);
  }
  return text;
}

std::string slots_words(const Ledger& ledger, const Refusal& refusal, const Naming& naming) {
  if (naming.only_place && !naming.slots_words.empty()) return std::string{naming.slots_words};
  const Totals totals = ledger.totals(refusal.place);
  const std::int64_t taken = totals.used.slots + totals.reserved.slots;
  const std::string text =
      std::to_string(taken) + " of " + counted(totals.capacity.slots, "replica");
  return naming.only_place ? "full: " + text
                           : ledger.place(refusal.place).name + " is full: " + text;
}

std::string too_big_words(const Ledger& ledger, const Refusal& refusal, const Naming& naming) {
  const std::string where = naming.only_place ? "" : " of " + ledger.place(refusal.place).name;
  const auto text = [&refusal](std::int64_t amount) {
    if (refusal.resource == Reason::cpu) return cpu_text(amount) + " CPU";
    if (refusal.resource == Reason::slots) return counted(amount, "replica");
    return memory_text(amount) + " memory";
  };
  return "too big: needs " + text(refusal.needed) + ", the largest node" + where + " has " +
         text(refusal.free);
}

// Names of the places that are missing, each with the one that was probably meant.
std::string missing_places(const Ledger& ledger, const std::vector<std::string>& wanted,
                           const std::vector<std::string>& there) {
  std::vector<std::string> parts;
  for (const std::string& name : wanted) {
    if (ledger.find_place(name)) {
      parts.push_back(name);
      continue;
    }
    const auto meant = closest_name(name, there);
    parts.push_back(name + (meant ? " (did you mean " + *meant + "?)" : " (no such place)"));
  }
  return joined(parts, ", ");
}

}  // namespace

std::string memory_shortage(std::int64_t free, std::int64_t claim) {
  // Free is rounded down and needed up: "64 MiB free, needs 64 MiB" would explain nothing.
  return "no memory: " + std::to_string(std::max<std::int64_t>(0, free) / kMebibyte) +
         " MiB free, needs " + std::to_string((claim + kMebibyte - 1) / kMebibyte) + " MiB";
}

std::string cpu_text(std::int64_t millicores) {
  const std::int64_t amount = std::max<std::int64_t>(0, millicores);
  std::string fraction = std::to_string(kCore + amount % kCore).substr(1);
  while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
  return std::to_string(amount / kCore) + (fraction.empty() ? "" : "." + fraction);
}

std::string memory_text(std::int64_t bytes) {
  const std::int64_t amount = std::max<std::int64_t>(0, bytes);
  if (amount > 0 && amount % kGibibyte == 0) return std::to_string(amount / kGibibyte) + " GiB";
  return std::to_string(amount / kMebibyte) + " MiB";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

std::string refusal_words(const Ledger& ledger, const Refusal& refusal, const Naming& naming) {
  const std::string name = refusal.reason == Reason::no_matching_place || naming.only_place
                               ? std::string{}
                               : ledger.place(refusal.place).name;
  const std::string has = name.empty() ? "" : name + " has ";
  const std::string about = name.empty() ? "" : name + ": ";
  switch (refusal.reason) {
    case Reason::none:
      return "";
    case Reason::no_matching_place:
      return "no place matches";
    case Reason::too_big:
      return too_big_words(ledger, refusal, naming);
    case Reason::place_away:
      return ledger.place(refusal.place).name +
             (ledger.place(refusal.place).state == PlaceState::draining
                  ? " is being drained"
                  : " is stale: nothing has been received from it");
    case Reason::slots:
      return slots_words(ledger, refusal, naming);
    case Reason::cpu:
      return has + "no CPU: " + cpu_text(refusal.free) + " free, needs " + cpu_text(refusal.needed);
    case Reason::memory:
    case Reason::gate:
      return has + memory_shortage(refusal.free, refusal.needed);
    case Reason::fragmented:
      return (name.empty() ? "there is" : name + " has") + " room in all, but not on one node";
    case Reason::pressure:
      return about + "no node takes replicas now";
    case Reason::node_limit:
      return about + "each node with room has " + counted(refusal.needed, "replica") +
             ", the most that max-per-node allows";
    case Reason::gate_later:
      return about + "memory is short, and one replica starts at a time";
  }
  return "";
}

std::string why_no_node(const Ledger& ledger, const Demand& demand,
                        const model::PlacementWish& wish, const Naming& naming, const Gate& gate) {
  const auto entries = demand.order->entries();
  if (entries.empty()) return no_match_words(ledger, wish);
  std::vector<std::string> parts;
  for (const PlaceOrder::Entry& entry : entries) {
    if (demand.not_in == entry.place) continue;
    Refusal refusal{.reason = Reason::place_away, .place = entry.place};
    if (ledger.place(entry.place).state == PlaceState::ready) {
      refusal = choose_in(ledger, demand, entry.place, gate).refusal;
    }
    if (refusal.reason != Reason::none) parts.push_back(refusal_words(ledger, refusal, naming));
  }
  if (parts.size() <= kPlacesShown) return joined(parts, "; ");
  const auto others = static_cast<std::int64_t>(parts.size() - kPlacesShown);
  parts.resize(kPlacesShown);
  return joined(parts, "; ") + "; and " + counted(others, "other place");
}

std::string no_match_words(const Ledger& ledger, const model::PlacementWish& wish) {
  std::vector<std::string> there;
  there.reserve(ledger.places().size());
  for (const PlaceId id : ledger.places()) there.push_back(ledger.place(id).name);
  std::vector<std::string> wanted;
  if (!wish.pin.empty()) wanted.push_back("pin " + missing_places(ledger, {wish.pin}, there));
  if (!wish.clusters.empty()) {
    wanted.push_back("clusters " + missing_places(ledger, wish.clusters, there));
  }
  if (!wish.where.empty()) wanted.push_back("labels " + model::selector_text(wish.where));
  std::string text = "no place matches";
  if (!wanted.empty()) text += ": " + joined(wanted, ", ");
  return text + (there.empty() ? "; there is none" : "; there are " + joined(there, ", "));
}

}  // namespace sluice::placement
