#pragma once

#include "common/base/result.h"

#include "load/core/load_plan.h"
#include <cstddef>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace sluice::loadgen {

/// The part of the command line that says how servers are spoken to, as text, before any check.
struct ProtocolFlags {
  std::string protocol;
  std::optional<std::size_t> streams;
  std::optional<std::size_t> threads;
  std::string every;
  std::string hold;
  bool insecure = false;
  std::string cacert;
  std::string cert;
  std::string key;
};

/// Adds these flags to `app`, which puts what it reads into `flags`; that one outlives its parsing.
void declare(CLI::App& app, ProtocolFlags& flags);

/// Settles how the targets of a plan, which are known, are spoken to, and reads the files of
/// certificates and keys.
[[nodiscard]] std::optional<Problem> read_protocols(const ProtocolFlags& flags, LoadPlan& plan);

}  // namespace sluice::loadgen
