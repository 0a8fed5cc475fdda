#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The part of the command line that says what is sent of a trace, as text, before any check.
struct ReplayFlags {
  std::string trace;  ///< FILE[:FORMAT]; empty: there is none
  std::optional<double> speed;
  std::optional<std::uint64_t> times;
  std::string from;
  std::string until;
  bool unsafe = false;

  /// Whether any of them is.
  [[nodiscard]] bool given() const;
};

/// Adds these flags to `app`, which puts what it reads into `flags`; that one outlives its parsing.
void declare(CLI::App& app, ReplayFlags& flags);

/// Makes a replay of `phase`; what its trace has is not known yet.
[[nodiscard]] std::optional<Problem> read_replay(const ReplayFlags& flags, Phase& phase);

}  // namespace sluice::loadgen
