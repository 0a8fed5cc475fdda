#pragma once

#include "memory-pressure/core/resident.h"
#include "memory-pressure/core/situation.h"
#include <vector>

namespace sluice::node_agent {

/// The lower is throttled, and in the end lost, before the higher.
[[nodiscard]] int class_rank(const Container& container);

/// Containers that may be throttled now, in order: leaks, then by class, then by the settings, last
/// by id. Unknown use goes last in its class (memory-pressure.md 5.2, 5.3; rows 43, 44b).
[[nodiscard]] std::vector<Resident*> order_of_restriction(Residents& residents,
                                                          const Situation& situation,
                                                          const PolicySettings& settings);

/// Who is throttled, the first to be released first: the oldest, or the largest; leaks last.
[[nodiscard]] std::vector<Resident*> order_of_release(Residents& residents,
                                                      const PolicySettings& settings);

/// How many run with all they were given, of those that could be throttled.
[[nodiscard]] std::size_t count_runners(const Residents& residents);

}  // namespace sluice::node_agent
