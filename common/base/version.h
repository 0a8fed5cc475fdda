#pragma once

#include <string_view>

namespace sluice {

/// The version of this build, of every program alike. CMakeLists.txt reads it from this line.
inline constexpr std::string_view kVersion = "1.0.0";

}  // namespace sluice
