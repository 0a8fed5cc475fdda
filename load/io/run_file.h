#pragma once

#include "common/base/result.h"

#include "load/core/comparison.h"
#include <string>

namespace sluice::loadgen {

/// The report that `--json` wrote to `path`, packed by gzip or not, of at most 1 GiB. The problem
/// names the file.
[[nodiscard]] Result<ComparedRun, Problem> read_run_file(const std::string& path);

}  // namespace sluice::loadgen
