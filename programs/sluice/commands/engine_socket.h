#pragma once

#include "common/base/result.h"

#include <string>

namespace sluice::commands {

/// The API socket of the running engine of this user that is called `name`; the problem lists those
/// that run.
[[nodiscard]] Result<std::string, Problem> engine_socket(const std::string& name);

}  // namespace sluice::commands
