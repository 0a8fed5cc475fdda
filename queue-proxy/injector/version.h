#pragma once

#include <string_view>

namespace sluice::injector {

inline constexpr std::string_view kVersion = "1.0.0";

}  // namespace sluice::injector
