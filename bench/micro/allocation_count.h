#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

namespace sluice::micro {

/// Allocations made by this program so far: its operator new is replaced by one that counts.
[[nodiscard]] std::int64_t allocations();

/// Bytes of the heap in use now, headers and rounding of malloc included.
[[nodiscard]] std::int64_t live_bytes();

/// Reports what a loop of `state.iterations()` items cost: items per second, and allocations per
/// item since `before`. A steady state that allocates is recorded as a failure of the program.
void conclude(benchmark::State& state, std::int64_t before);

/// Whether any bench allocated in its steady state: then the program exits with 1.
[[nodiscard]] bool any_allocated();

}  // namespace sluice::micro
