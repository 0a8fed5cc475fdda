#include "activator/core/revision_table.h"

#include "activator/core/host_table.h"

#include <algorithm>
#include <utility>

namespace sluice::activator {

namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Below zero, zero or above: `known`, in lower case already, against `asked` in any case.
int compare_host(std::string_view known, std::string_view asked) {
  const std::size_t shared = std::min(known.size(), asked.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const auto a = static_cast<unsigned char>(known[i]);
    const auto b = static_cast<unsigned char>(lower(asked[i]));
    if (a != b) {
      return a < b ? -1 : 1;
    }
  }
  return known.size() == asked.size() ? 0 : (known.size() < asked.size() ? -1 : 1);
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
}

bool covers(std::string_view prefix, std::string_view path) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

struct Entry {
  std::string host;
  std::string prefix;
  std::uint32_t target;
};

Result<Entry, Problem> normalise(const RevisionRoute& route) {
  Entry entry{.host = route.host, .prefix = route.path_prefix, .target = route.target};
  std::transform(entry.host.begin(), entry.host.end(), entry.host.begin(), lower);
  if (entry.host.ends_with('.')) {
    entry.host.pop_back();
  }
  const bool odd = entry.host.find_first_of("/ \t") != std::string::npos;
  if (entry.host.empty() || odd || host_of(entry.host) != entry.host) {
    return Problem{.what = "'" + route.host + "' is not a host that requests can name",
                   .fix = "give a bare host such as shop.example.com, without port or path"};
  }
  if (!entry.prefix.empty() && entry.prefix.front() != '/') {
    return Problem{.what = "path prefix '" + route.path_prefix + "' of host " + entry.host +
                           " does not begin with a slash",
                   .fix = "write it as /" + route.path_prefix};
  }
  while (entry.prefix.ends_with('/')) {
    entry.prefix.pop_back();
  }
  return entry;
}

}  // namespace

Result<RevisionTable, Problem> RevisionTable::build(std::span<const RevisionRoute> routes) {
  if (routes.size() > kRoutesMax) {
    return Problem{.what = std::to_string(routes.size()) + " routes are more than the limit of " +
                           std::to_string(kRoutesMax),
                   .fix = "serve fewer hosts and path prefixes"};
  }
  std::vector<Entry> entries;
  entries.reserve(routes.size());
  for (const RevisionRoute& route : routes) {
    Result<Entry, Problem> entry = normalise(route);
    if (!entry) {
      return entry.error();
    }
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.host != b.host) {
      return a.host < b.host;
    }
    return a.prefix.size() != b.prefix.size() ? a.prefix.size() > b.prefix.size()
                                              : a.prefix < b.prefix;
  });

  RevisionTable table;
  for (Entry& entry : entries) {
    const bool same_host = !table.hosts_.empty() && table.hosts_.back() == entry.host;
    if (same_host && table.ways_.back().prefix == entry.prefix) {
      return Problem{.what = "host " + entry.host + entry.prefix + " is claimed twice",
                     .fix = "remove one of the two, or give it a path prefix of its own"};
    }
    if (!same_host) {
      table.first_.push_back(table.ways_.size());
      table.hosts_.push_back(std::move(entry.host));
    }
    table.ways_.push_back({.prefix = std::move(entry.prefix), .target = entry.target});
  }
  table.first_.push_back(table.ways_.size());
  return table;
}

std::optional<std::uint32_t> RevisionTable::find(std::string_view authority,
                                                 std::string_view path) const {
  const std::optional<std::size_t> host = host_index(authority);
  if (!host) {
    return std::nullopt;
  }
  const std::string_view wanted = path_of(path);
  for (std::size_t way = first_[*host]; way < first_[*host + 1]; ++way) {
    if (ways_[way].prefix.empty() || covers(ways_[way].prefix, wanted)) {
      return ways_[way].target;
    }
  }
  return std::nullopt;
}

bool RevisionTable::knows(std::string_view authority) const {
  return host_index(authority).has_value();
}

std::optional<std::size_t> RevisionTable::host_index(std::string_view authority) const {
  const std::string_view host = host_of(authority);
  const auto found = std::lower_bound(hosts_.begin(), hosts_.end(), host,
                                      [](const std::string& known, std::string_view asked) {
                                        return compare_host(known, asked) < 0;
                                      });
  if (found == hosts_.end() || compare_host(*found, host) != 0) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - hosts_.begin());
}

}  // namespace sluice::activator
