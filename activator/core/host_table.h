#pragma once

#include "activator/core/traffic_share.h"
#include "common/base/ids.h"
#include "common/model/host_rule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::activator {

/// The host of a Host header or authority: port and final dot stripped. Brackets of an IPv6 address
/// stay. A view into `authority`; letters keep their case.
[[nodiscard]] std::string_view host_of(std::string_view authority);

/// Which revision the host and the path of a request lead to. Rules come and go one at a time; a
/// look-up allocates nothing and costs as much as the path has segments, however many rules its
/// host has. A rule that several revisions claim is divided among those of them that claim a
/// percentage of its requests; without such it belongs to the first of them by namespace and name.
class HostTable {
 public:
  /// Rules in one table, at most.
  static constexpr std::size_t kRulesMax = 100'000;

  /// `who` claims `rule`; requests that follow it are for `target`, the caller's number of the
  /// revision. With `percent` it claims that much of them and leaves the rest to others; a second
  /// claim changes that. Returns how many revisions claim the rule now; 0: the table is full, and
  /// `who` does not claim it. `who` outlives its claims.
  [[nodiscard]] std::size_t add(const model::HostRule& rule, const RevisionId& who,
                                std::uint64_t target,
                                std::optional<std::int32_t> percent = std::nullopt);

  /// `who` claims `rule` no longer. One that it does not claim changes nothing.
  void remove(const model::HostRule& rule, const RevisionId& who);

  /// The target of one request by its Host header (a port is ignored) and the path of its request
  /// line, without query. The longest prefix wins; it ends at a slash or at the end of the path, so
  /// `/shop` covers `/shop/a` and not `/shopping`. A rule that is divided counts the request.
  [[nodiscard]] std::optional<std::uint64_t> choose(std::string_view authority,
                                                    std::string_view path);

  /// Whether `holds` of each target that a request for that host and path may be for, and there is
  /// one.
  template <class Holds>
  [[nodiscard]] bool all_of(std::string_view authority, std::string_view path, Holds holds) const {
    const Way* const way = way_of(authority, path);
    return way != nullptr &&
           std::all_of(way->claims.begin(), way->claims.end(),
                       [&holds](const Claim& claim) { return holds(claim.target); });
  }

  /// Whether any rule has the host of `authority`, whatever its path.
  [[nodiscard]] bool knows(std::string_view authority) const;

  /// Whose the rule is; null: no revision claims it.
  [[nodiscard]] const RevisionId* holder(const model::HostRule& rule) const;

  /// The first hosts in alphabetical order, at most `most`: what a 404 lists. In lower case, and
  /// valid until the next change.
  [[nodiscard]] std::vector<std::string_view> hosts(std::size_t most) const;

  /// How many hosts there are.
  [[nodiscard]] std::size_t size() const { return hosts_.size(); }

 private:
  struct Claim {
    const RevisionId* who = nullptr;
    std::uint64_t target = 0;
    std::optional<std::int32_t> percent{};
  };

  struct Way {
    std::vector<Claim> claims{};         // in the order of `who`, never empty
    std::vector<TrafficShare> shares{};  // of the claims in that order; empty: it is not divided
  };

  using Ways = std::map<std::string, Way, std::less<>>;  // by path prefix, never empty

  static void divide(Way& way);

  // Hosts are kept in lower case; a request's may be in any.
  struct HashHost {
    using is_transparent = void;
    std::size_t operator()(std::string_view host) const;
  };

  struct SameHost {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const;
  };

  // Of a table that may change, a way that may.
  template <class Hosts>
  [[nodiscard]] static auto way_in(Hosts& hosts, std::string_view authority, std::string_view path)
      -> decltype(&hosts.begin()->second.begin()->second);

  [[nodiscard]] const Way* way_of(std::string_view authority, std::string_view path) const;

  std::unordered_map<std::string, Ways, HashHost, SameHost> hosts_;
  std::set<std::string_view> names_;  // the keys of hosts_, in order
  std::size_t rules_ = 0;
};

}  // namespace sluice::activator
