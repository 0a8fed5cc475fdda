#pragma once

#include "common/base/result.h"
#include "common/values/misread.h"

#include <cstdint>
#include <string_view>

// Sizes and CPUs as Kubernetes writes them. No sign, no exponent: 1e3 is for programs, and its
// spelling collides with E for exa.
namespace sluice {

/// Bytes: `64Mi`, `1Gi`, `512M`, `1024`, `1.5Gi`; a part of a byte counts as one. At most 8 EiB
/// - 1.
[[nodiscard]] Result<std::int64_t, Misread> read_size(std::string_view text);

/// CPU cores: `0.5`, `2`, `500m`, and 0.
[[nodiscard]] Result<double, Misread> read_cores(std::string_view text);

}  // namespace sluice
