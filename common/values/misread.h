#pragma once

#include <cstdint>

namespace sluice {

/// Why a text is not a valid value. The caller names the flag or the field.
enum class Misread : std::uint8_t { malformed, too_small, too_large };

}  // namespace sluice
