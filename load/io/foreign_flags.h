#pragma once

#include "common/base/result.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// The first argument that means something else in hey, wrk or fortio, with the flag of ours.
[[nodiscard]] std::optional<Problem> foreign_flag(const std::vector<std::string>& arguments);

}  // namespace sluice::loadgen
