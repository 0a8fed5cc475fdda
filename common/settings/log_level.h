#pragma once

#include "common/log/log.h"
#include "common/settings/env_reader.h"

namespace sluice::settings {

/// Reads SLUICE_LOG_LEVEL; `info` when not set or empty.
[[nodiscard]] log::Severity read_log_level(EnvReader& reader);

}  // namespace sluice::settings
