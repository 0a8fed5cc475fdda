#pragma once

#include <string_view>

namespace sluice::autoscaler {

inline constexpr std::string_view kVersion = "1.0.0";

}  // namespace sluice::autoscaler
