#include "autoscaler/core/view/fleet_rows.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr std::string_view kName = "name";
constexpr std::string_view kTrouble = "trouble";
constexpr std::array<std::string_view, 4> kFigureSorts{"rps", "p99", "queued", "ready"};

bool is_same(double left, double right) {
  return left == right || (std::isnan(left) && std::isnan(right));
}

double known(double value) {
  return std::isnan(value) ? 0 : value;
}

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char left, char right) {
           return lower(left) == lower(right);
         }) != text.end();
}

template <std::size_t N>
std::size_t place_in(const std::array<std::string_view, N>& list, std::string_view word) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), word) - list.begin());
}

// The worst first: trouble, then what is on its way, then what serves, then what sleeps.
double rank_of(const FleetRow& row) {
  if (!row.trouble.empty()) return static_cast<double>(place_in(kTroubles, row.trouble));
  constexpr std::array<std::string_view, 4> kOrder{"starting", "awake", "draining", "asleep"};
  return static_cast<double>(kTroubles.size() + place_in(kOrder, row.state));
}

double figure_of(const FleetRow& row, std::string_view sort) {
  if (sort == "rps") return known(row.rps);
  if (sort == "p99") return known(row.p99_ms);
  return sort == "queued" ? known(row.queued) : row.ready;
}

}  // namespace

bool FleetRow::shows_as(const FleetRow& other) const {
  const auto words = [](const FleetRow& row) {
    return std::tie(row.service, row.state, row.trouble, row.ready, row.starting, row.want,
                    row.last_cold_start_ms, row.panic_since, row.why);
  };
  const auto figures = [](const FleetRow& row) {
    return std::array{row.stable, row.panic,     row.target, row.rps,
                      row.queued, row.in_flight, row.p50_ms, row.p99_ms};
  };
  if (words(*this) != words(other)) return false;
  const auto own = figures(*this);
  const auto others = figures(other);
  return std::equal(own.begin(), own.end(), others.begin(), is_same);
}

bool RowQuery::knows_state() const {
  return state.empty() || state == kTrouble ||
         place_in(FleetTiles::kStates, state) < FleetTiles::kStates.size();
}

bool RowQuery::knows_sort() const {
  return sort == kName || sort == kTrouble || place_in(kFigureSorts, sort) < kFigureSorts.size();
}

bool RowQuery::takes(const FleetRow& row) const {
  if (state == kTrouble ? row.trouble.empty() : !state.empty() && row.state != state) return false;
  return text.empty() || contains(row.service, text) || contains(row.id.space, text);
}

double RowQuery::key_of(const FleetRow& row) const {
  if (sort == kName) return 0;
  return sort == kTrouble ? rank_of(row) : -figure_of(row, sort);
}

bool RowQuery::goes_first(const FleetRow& left, const FleetRow& right) const {
  const double own = key_of(left);
  const double other = key_of(right);
  return own != other ? own < other : left.id < right.id;
}

void FleetRows::count(const FleetRow& row, int sign) {
  const std::size_t state = place_in(FleetTiles::kStates, row.state);
  if (state < tiles_.states.size()) tiles_.states[state] += sign;
  tiles_.services += sign;
  const std::size_t trouble = place_in(kTroubles, row.trouble);
  if (trouble < kTroubles.size()) tiles_.troubles[trouble] += sign;
  if (row.panic_since && sign > 0) {
    panicking_.insert(row.id);
  } else if (row.panic_since) {
    panicking_.erase(row.id);
  }
  tiles_.ready += sign * row.ready;
  tiles_.want += sign * row.want;
  tiles_.rps += sign * row.rps;
  tiles_.queued += sign * known(row.queued);
  tiles_.in_flight += sign * known(row.in_flight);
  if (tiles_.services > 0 && tiles_.states[0] != tiles_.services) return;
  // Sums of fractions do not come back to zero by themselves.
  tiles_.rps = tiles_.queued = tiles_.in_flight = 0;
}

void FleetRows::put(FleetRow row) {
  const auto [at, fresh] = rows_.try_emplace(row.id);
  Kept& kept = at->second;
  if (!fresh) {
    if (kept.row.shows_as(row)) return;
    count(kept.row, -1);
    by_version_.erase(kept.version);
  }
  kept.row = std::move(row);
  kept.version = ++version_;
  by_version_.emplace_hint(by_version_.end(), kept.version, &kept);
  count(kept.row, 1);
}

void FleetRows::drop(const RevisionId& id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return;
  count(found->second.row, -1);
  by_version_.erase(found->second.version);
  gone_.push_back({.version = ++version_, .id = id, .service = found->second.row.service});
  rows_.erase(found);
  if (gone_.size() <= kGoneMax) return;
  forgotten_ = gone_.front().version;
  gone_.pop_front();
}

const FleetRows::Kept* FleetRows::find(const RevisionId& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

std::vector<const FleetRows::Kept*> FleetRows::after(const RevisionId& id, std::size_t most) const {
  std::vector<const Kept*> following;
  for (auto at = rows_.upper_bound(id); at != rows_.end() && following.size() < most; ++at) {
    following.push_back(&at->second);
  }
  return following;
}

std::optional<FleetRows::Changes> FleetRows::changes_since(std::uint64_t version,
                                                           std::size_t most) const {
  if (version < forgotten_) return std::nullopt;
  Changes changes{.rows = {}, .gone = {}, .version = version_};
  for (auto at = by_version_.upper_bound(version); at != by_version_.end(); ++at) {
    changes.rows.push_back(at->second);
    if (changes.rows.size() < most) continue;
    changes.version = at->first;
    break;
  }
  const auto goes_later = [](std::uint64_t than, const Gone& each) { return than < each.version; };
  auto gone = std::upper_bound(gone_.begin(), gone_.end(), version, goes_later);
  for (; gone != gone_.end() && gone->version <= changes.version; ++gone) {
    changes.gone.push_back(&*gone);
    if (changes.gone.size() >= most) changes.version = gone->version;
  }
  while (!changes.rows.empty() && changes.rows.back()->version > changes.version) {
    changes.rows.pop_back();
  }
  return changes;
}

RowSearch::RowSearch(const FleetRows& rows, RowQuery query, std::size_t begin, std::size_t end)
    : rows_{rows},
      query_{std::move(query)},
      begin_{begin},
      end_{end},
      by_name_{query_.sort == kName} {}

bool RowSearch::find() {
  constexpr std::size_t kRows = 100;  // of a call: some 40 us
  const std::vector<const FleetRows::Kept*> rows = rows_.after(reached_, kRows);
  for (const FleetRows::Kept* kept : rows) {
    if (query_.takes(kept->row)) take(kept->row);
  }
  if (rows.size() == kRows && !(by_name_ && matching_ > end_)) {
    reached_ = rows.back()->row.id;
    return true;
  }
  arrange();
  return false;
}

void RowSearch::take(const FleetRow& row) {
  const std::size_t place = matching_++;
  if (by_name_) {
    if (place >= begin_ && place < end_) page_.push_back(row.id);
    return;
  }
  Candidate fresh{.key = query_.key_of(row), .order = static_cast<std::uint32_t>(place)};
  if (best_.size() < end_) {
    fresh.slot = static_cast<std::uint32_t>(ids_.size());
    ids_.push_back(row.id);
  } else {
    if (best_.empty() || !(fresh < best_.front())) return;
    std::pop_heap(best_.begin(), best_.end());
    fresh.slot = best_.back().slot;
    best_.pop_back();
    ids_[fresh.slot] = row.id;
  }
  best_.push_back(fresh);
  std::push_heap(best_.begin(), best_.end());
}

void RowSearch::arrange() {
  if (begin_ >= best_.size()) return;
  const auto first = best_.begin() + static_cast<std::ptrdiff_t>(begin_);
  std::nth_element(best_.begin(), first, best_.end());
  std::sort(first, best_.end());
  for (auto each = first; each != best_.end(); ++each) page_.push_back(ids_[each->slot]);
}

}  // namespace sluice::autoscaler
