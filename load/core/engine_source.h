#pragma once

#include "common/base/result.h"

#include "load/core/target.h"
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Where replicas and decisions come from, as `--engine` says it.
struct EngineSource {
  enum class Kind {
    targets,  ///< `auto`: from whatever answers at the host of each target
    none,     ///< `off`: no API is asked
    named,    ///< from the engine of this machine that is called `name`
    address,  ///< from the API at `api`
  };

  Kind kind = Kind::targets;
  std::string name = {};  ///< of an engine, a DNS label
  Target api = {};        ///< host and port; its path is that of the API without `/services`
  /// The service of all targets; empty: each target's is found by its host.
  std::string space = {};
  std::string service = {};

  /// Whether a run without replicas and decisions is not what was asked for.
  [[nodiscard]] bool is_required() const { return kind == Kind::named || kind == Kind::address; }
};

/// The path of an engine's API at its front door; an autoscaler has the last two parts alone, and
/// so has an engine at its socket.
inline constexpr std::string_view kEngineApi = "/_sluice/api/v1";
inline constexpr std::string_view kBareApi = "/api/v1";

/// Reads `auto`, `off`, the NAME of an engine, a URL, or `NAMESPACE/NAME@URL` for one service of an
/// autoscaler. A URL is `http://HOST:PORT`, perhaps with the path before `/api/v1`.
[[nodiscard]] Result<EngineSource, Problem> parse_engine_source(std::string_view text);

}  // namespace sluice::loadgen
