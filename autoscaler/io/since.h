#pragma once

#include "common/api/api_text.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <string>

namespace sluice::autoscaler {

/// The moment that the parameter `since` names (parse_moment); without it that of `age`.
[[nodiscard]] Result<TimePoint, http::ApiProblem> since_in(const http::ApiTarget& target,
                                                           const std::string& age, TimePoint now);

}  // namespace sluice::autoscaler
