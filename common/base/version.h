#pragma once

#include <string_view>

namespace sluice {

/// The version of this build, of every program alike: the newest of CHANGELOG.md, or the one that
/// CMake is given as SLUICE_VERSION.
extern const std::string_view kVersion;

}  // namespace sluice
