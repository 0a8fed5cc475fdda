#include "activator/core/host_table.h"

#include <algorithm>

namespace sluice::activator {

namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// The longest beginning of `path` that may be a prefix: whole segments within the limit.
std::string_view longest_prefix(std::string_view path) {
  if (path.size() <= model::kPathPrefixBytesMax) return path;
  const std::size_t slash = path.rfind('/', model::kPathPrefixBytesMax);
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

std::string_view without_last_segment(std::string_view prefix) {
  const std::size_t slash = prefix.rfind('/');
  return prefix.substr(0, slash == std::string_view::npos ? 0 : slash);
}

}  // namespace

std::string_view host_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool ported =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  std::string_view host = ported ? authority.substr(0, colon) : authority;
  if (host.ends_with('.')) {
    host.remove_suffix(1);
  }
  return host;
}

std::size_t HostTable::HashHost::operator()(std::string_view host) const {
  std::size_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char c : host) {
    hash = (hash ^ static_cast<unsigned char>(lower(c))) * 1'099'511'628'211U;
  }
  return hash;
}

bool HostTable::SameHost::operator()(std::string_view a, std::string_view b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// A request counts from the beginning wherever the claims have changed.
void HostTable::divide(Way& way) {
  way.shares.clear();
  const bool divided = std::any_of(way.claims.begin(), way.claims.end(),
                                   [](const Claim& claim) { return claim.percent.has_value(); });
  if (!divided) return;
  for (const Claim& claim : way.claims) {
    way.shares.push_back({.weight = claim.percent.value_or(0), .credit = 0});
  }
}

std::size_t HostTable::add(const model::HostRule& rule, const RevisionId& who, std::uint64_t target,
                           std::optional<std::int32_t> percent) {
  if (rules_ == kRulesMax) return 0;
  const auto [host, is_new] = hosts_.try_emplace(rule.host);
  if (is_new) names_.insert(host->first);
  Way& way = host->second[rule.path_prefix];
  const auto place =
      std::lower_bound(way.claims.begin(), way.claims.end(), who,
                       [](const Claim& claim, const RevisionId& id) { return *claim.who < id; });
  if (place == way.claims.end() || *place->who != who) {
    way.claims.insert(place, {.who = &who, .target = target, .percent = percent});
    ++rules_;
  } else {
    place->percent = percent;
  }
  divide(way);
  return way.claims.size();
}

void HostTable::remove(const model::HostRule& rule, const RevisionId& who) {
  const auto host = hosts_.find(rule.host);
  if (host == hosts_.end()) return;
  const auto way = host->second.find(rule.path_prefix);
  if (way == host->second.end()) return;
  const std::size_t removed =
      std::erase_if(way->second.claims, [&who](const Claim& claim) { return *claim.who == who; });
  rules_ -= removed;
  if (removed > 0) divide(way->second);
  if (way->second.claims.empty()) host->second.erase(way);
  if (!host->second.empty()) return;
  names_.erase(host->first);
  hosts_.erase(host);
}

template <class Hosts>
auto HostTable::way_in(Hosts& hosts, std::string_view authority, std::string_view path)
    -> decltype(&hosts.begin()->second.begin()->second) {
  const auto host = hosts.find(host_of(authority));
  if (host == hosts.end()) return nullptr;
  std::string_view prefix = longest_prefix(path);
  while (true) {
    if (const auto way = host->second.find(prefix); way != host->second.end()) return &way->second;
    if (prefix.empty()) return nullptr;
    prefix = without_last_segment(prefix);
  }
}

const HostTable::Way* HostTable::way_of(std::string_view authority, std::string_view path) const {
  return way_in(hosts_, authority, path);
}

std::optional<std::uint64_t> HostTable::choose(std::string_view authority, std::string_view path) {
  Way* const way = way_in(hosts_, authority, path);
  if (way == nullptr) return std::nullopt;
  const std::size_t place = way->shares.empty() ? 0 : next_share(way->shares);
  return way->claims[place].target;
}

bool HostTable::knows(std::string_view authority) const {
  return hosts_.contains(host_of(authority));
}

const RevisionId* HostTable::holder(const model::HostRule& rule) const {
  const auto host = hosts_.find(rule.host);
  if (host == hosts_.end()) return nullptr;
  const auto way = host->second.find(rule.path_prefix);
  return way == host->second.end() ? nullptr : way->second.claims.front().who;
}

std::vector<std::string_view> HostTable::hosts(std::size_t most) const {
  std::vector<std::string_view> first;
  for (auto name = names_.begin(); name != names_.end() && first.size() < most; ++name) {
    first.push_back(*name);
  }
  return first;
}

}  // namespace sluice::activator
