#pragma once

#include "common/model/placement_wish.h"
#include "common/scaling/annotations.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// Of the annotations that say where replicas run; all others below it are errors.
inline constexpr std::string_view kPlacementPrefix = "placement.sluice.dev/";

/// A wish with what is wrong in it. A value that cannot be read counts as absent.
struct ReadWish {
  model::PlacementWish wish;
  std::vector<AnnotationProblem> problems;
};

/// What the `placement.sluice.dev/` annotations of a template ask for. An unknown key is a problem
/// that names the key that was probably meant.
[[nodiscard]] ReadWish read_placement(const StringMap& annotations);

/// Every key that it takes.
[[nodiscard]] std::vector<std::string> placement_keys();

}  // namespace sluice::autoscaler
