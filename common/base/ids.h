#pragma once

#include <compare>
#include <functional>
#include <string>

namespace sluice {

/// A revision: an immutable version of a service, the thing that is scaled.
struct RevisionId {
  std::string space;  ///< the namespace; "default" on one machine
  std::string name;

  friend auto operator<=>(const RevisionId&, const RevisionId&) = default;
};

/// A pod (on one machine: a replica) by its name, unique within a namespace.
struct PodId {
  std::string name;

  friend auto operator<=>(const PodId&, const PodId&) = default;
};

}  // namespace sluice

template <>
struct std::hash<sluice::RevisionId> {
  std::size_t operator()(const sluice::RevisionId& id) const noexcept {
    return std::hash<std::string>{}(id.name) * 31 + std::hash<std::string>{}(id.space);
  }
};

template <>
struct std::hash<sluice::PodId> {
  std::size_t operator()(const sluice::PodId& id) const noexcept {
    return std::hash<std::string>{}(id.name);
  }
};
