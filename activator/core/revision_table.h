#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::activator {

/// One way in: requests for `host` whose path lies under `path_prefix` go to `target`.
struct RevisionRoute {
  std::string host;          ///< without port; case does not matter
  std::string path_prefix;   ///< "" or "/" for every path; a trailing slash does not matter
  std::uint32_t target = 0;  ///< the caller's index of the revision
};

/// Where requests go, as an immutable value: a change is a new table. Look-up allocates nothing.
class RevisionTable {
 public:
  /// Routes in one table, at most.
  static constexpr std::size_t kRoutesMax = 65'536;

  /// An empty table: nothing is found.
  RevisionTable() = default;

  /// Refused: more than kRoutesMax routes, an empty host, a host with a port or a slash, a prefix
  /// that does not begin with a slash, and two routes for one host and prefix. The problem names
  /// the route.
  [[nodiscard]] static Result<RevisionTable, Problem> build(std::span<const RevisionRoute> routes);

  /// The target for a Host header (a port is ignored) and the target of a request line, of which
  /// the path counts and the query does not. The longest prefix wins; it ends at a slash or at the
  /// end of the path, so `/shop` covers `/shop/a` and not `/shopping`.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view authority,
                                                  std::string_view path) const;

  /// Whether any route has the host of `authority`, whatever its path.
  [[nodiscard]] bool knows(std::string_view authority) const;

  /// Every host once, in lower case and alphabetical order: what a 404 lists.
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  struct Way {
    std::string prefix;  // without a final slash; longest first within a host
    std::uint32_t target = 0;
  };

  [[nodiscard]] std::optional<std::size_t> host_index(std::string_view authority) const;

  // ways_[first_[i]] up to ways_[first_[i + 1]] belong to hosts_[i].
  std::vector<std::string> hosts_;
  std::vector<std::size_t> first_;
  std::vector<Way> ways_;
};

}  // namespace sluice::activator
