#pragma once

#include "common/model/selector.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::model {

/// What a service asks of the places where its replicas run (`placement.sluice.dev/` annotations).
struct PlacementWish {
  std::vector<std::string> clusters{};  ///< names of places, most liked first; empty: the default
  bool any = false;                     ///< `any` is among them: after those named, every other
  Selector where{};                     ///< labels that the place must have; empty: any place has
  std::string pin{};                    ///< the one place that it may use; empty: none
  std::optional<bool> movable{};        ///< absent: unless it has a state of its own
  std::int32_t move_priority = 0;       ///< lower is moved first
  std::string application{};      ///< declared together with others of that name; empty: alone
  std::int32_t max_per_node = 0;  ///< replicas; 0: no limit

  friend bool operator==(const PlacementWish&, const PlacementWish&) = default;
};

}  // namespace sluice::model
