#pragma once

#include "common/base/result.h"

#include "load/core/engine_source.h"
#include "load/io/engine_watch.h"
#include <functional>
#include <optional>
#include <string>

namespace sluice::loadgen {

/// The API socket of the engine of this machine that has a name; the problem says which there are.
using EngineFinder = std::function<Result<std::string, Problem>(const std::string& name)>;

/// Where a run looks for replicas and decisions.
struct EngineChoice {
  EngineSource source;
  std::optional<EngineApi> api = {};  ///< of a source that is required
};

/// The API that `source` means. Waits at most 10 seconds for a name. Without `find_engine` no
/// engine has a name.
[[nodiscard]] Result<EngineChoice, Problem> choose_engine(const EngineSource& source,
                                                          const EngineFinder& find_engine);

}  // namespace sluice::loadgen
