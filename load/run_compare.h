#pragma once

#include <string>
#include <vector>

namespace sluice::loadgen {

/// `sluice load compare`: `args` are what follows. Returns the exit status: 0, 4 if a run is worse,
/// 1 if the comparison cannot be written, 2 for a wrong flag, 78 for a file that is no report or
/// runs that cannot be compared.
[[nodiscard]] int run_compare(std::vector<std::string> args);

}  // namespace sluice::loadgen
