#pragma once

#include <cstddef>
#include <span>

namespace sluice::replay {

/// `placement_replay [R1] [R2] [--check] [--quick] [--seed N]`; returns the exit status: with
/// --check 1 when a figure is short of its bar, 2 for a wrong argument.
[[nodiscard]] int run_command(std::span<char* const> arguments);

}  // namespace sluice::replay
