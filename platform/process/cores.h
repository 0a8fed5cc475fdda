#pragma once

#include "common/base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// Cores have the numbers of the kernel, which are below this.
inline constexpr int kCoreNumbers = 4096;

/// The cores of a text such as `0-1,4`, each once and in order.
[[nodiscard]] Result<std::vector<int>, Problem> parse_cores(std::string_view text);

/// The shortest form that parse_cores reads back, of cores in order.
[[nodiscard]] std::string format_cores(std::span<const int> cores);

/// Those that this process may use, in order; none: the kernel does not say.
[[nodiscard]] std::vector<int> own_cores();

/// Cores as sched_setaffinity takes them.
[[nodiscard]] std::vector<unsigned long> core_mask(std::span<const int> cores);

}  // namespace sluice::local
