#include "activator/core/host_table.h"

#include <algorithm>

namespace sluice::activator {

namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool covers(std::string_view prefix, std::string_view path) {
  return prefix.empty() ||
         (path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/'));
}

// Where the ways of one prefix begin: longer prefixes are before it.
template <class Ways>
auto first_of(Ways& ways, std::string_view prefix) {
  return std::find_if(ways.begin(), ways.end(), [prefix](const auto& way) {
    return way.prefix.size() != prefix.size() ? way.prefix.size() < prefix.size()
                                              : way.prefix >= prefix;
  });
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

std::size_t HostTable::add(const model::HostRule& rule, const RevisionId& who,
                           std::uint64_t target) {
  if (rules_ == kRulesMax) return 0;
  const auto [host, is_new] = hosts_.try_emplace(rule.host);
  if (is_new) names_.insert(host->first);
  Ways& ways = host->second;
  const auto same = [&rule](const Way& way) { return way.prefix == rule.path_prefix; };
  const auto first = first_of(ways, rule.path_prefix);
  const auto last = std::find_if_not(first, ways.end(), same);
  const auto claims = static_cast<std::size_t>(last - first);
  const auto place =
      std::find_if(first, last, [&who](const Way& way) { return !(*way.who < who); });
  if (place != last && *place->who == who) {
    place->target = target;
    return claims;
  }
  ways.insert(place, {.prefix = rule.path_prefix, .who = &who, .target = target});
  ++rules_;
  return claims + 1;
}

void HostTable::remove(const model::HostRule& rule, const RevisionId& who) {
  const auto host = hosts_.find(rule.host);
  if (host == hosts_.end()) return;
  rules_ -= std::erase_if(host->second, [&](const Way& way) {
    return way.prefix == rule.path_prefix && *way.who == who;
  });
  if (!host->second.empty()) return;
  names_.erase(host->first);
  hosts_.erase(host);
}

const HostTable::Ways* HostTable::ways_of(std::string_view authority) const {
  const auto host = hosts_.find(host_of(authority));
  return host == hosts_.end() ? nullptr : &host->second;
}

std::optional<std::uint64_t> HostTable::find(std::string_view authority,
                                             std::string_view path) const {
  const Ways* ways = ways_of(authority);
  if (ways == nullptr) return std::nullopt;
  for (const Way& way : *ways) {
    if (covers(way.prefix, path)) return way.target;
  }
  return std::nullopt;
}

bool HostTable::knows(std::string_view authority) const {
  return ways_of(authority) != nullptr;
}

const RevisionId* HostTable::holder(const model::HostRule& rule) const {
  const auto host = hosts_.find(rule.host);
  if (host == hosts_.end()) return nullptr;
  const auto way = first_of(host->second, rule.path_prefix);
  return way == host->second.end() || way->prefix != rule.path_prefix ? nullptr : way->who;
}

std::vector<std::string_view> HostTable::hosts(std::size_t most) const {
  std::vector<std::string_view> first;
  for (auto name = names_.begin(); name != names_.end() && first.size() < most; ++name) {
    first.push_back(*name);
  }
  return first;
}

}  // namespace sluice::activator
