#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include "load/core/load_plan.h"
#include "load/io/report_json.h"
#include <string>
#include <vector>

namespace sluice::loadgen {

/// What a report has about this machine.
[[nodiscard]] Circumstances circumstances(TimePoint started, const std::vector<std::string>& args);

/// A numeric address of the target's host: loopback for `localhost` and all names below it
/// (one-machine.md 4), whatever the resolver thinks of them. Waits at most 10 seconds.
[[nodiscard]] Result<std::string, Problem> resolve(const Target& target);

/// Raises this process's limit on open files as far as it may go; returns how many connections that
/// leaves room for.
[[nodiscard]] std::size_t raise_connection_limit();

/// Columns of the terminal that `descriptor` is, at least 20; 0 if it is none.
[[nodiscard]] std::size_t terminal_width(int descriptor);

/// What the calling thread has used of a core so far.
[[nodiscard]] Duration thread_cpu_time();

/// The machine's clock, which may be set while it runs, since 1970.
[[nodiscard]] Duration machine_clock();

/// A prefix for request ids that no other run has.
[[nodiscard]] std::string fresh_run_id();

}  // namespace sluice::loadgen
