#pragma once

#include <compare>
#include <string>

namespace sluice::kube {

/// The coordinates of an object within its kind.
struct ObjectName {
  std::string space;  ///< its namespace; empty for kinds that have none
  std::string name;

  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;

  /// `namespace/name`, for logs.
  [[nodiscard]] std::string text() const { return space.empty() ? name : space + "/" + name; }
};

}  // namespace sluice::kube
