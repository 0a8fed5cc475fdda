#pragma once

#include "common/base/result.h"

#include "platform/process/service_log.h"
#include "programs/sluice/commands/verb.h"
#include <filesystem>
#include <string>

namespace sluice::commands {

/// The log of a service that no running engine has: its engine is gone, or it was deleted.
struct KeptLog {
  std::string engine;
  std::filesystem::path file;
};

/// Looks for `SERVICE` or `ENGINE/SERVICE` below the state directory. A failure of exit code 2:
/// more than one engine has kept such a log; otherwise none has.
[[nodiscard]] Result<KeptLog, Failure> find_kept_log(const Surroundings& with,
                                                     const std::string& name);

}  // namespace sluice::commands
