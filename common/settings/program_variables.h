#pragma once

#include "common/log/log.h"
#include "common/settings/reader.h"

#include <string>

// Variables that several programs have.
namespace sluice::settings {

/// Reads SLUICE_LOG_LEVEL; `info` when not set or empty.
[[nodiscard]] log::Severity read_log_level(Reader& reader);

/// The descriptor to which a line is written once all ports are bound; -1: none.
[[nodiscard]] int read_ready_fd(Reader& reader);

/// Refuses SLUICE_THREADS other than 1: breakers and statistics are exact because they have one
/// home.
void check_threads(Reader& reader);

/// The directory of SLUICE_PLATFORM=dir:PATH; empty for kubernetes, which it is when not set.
[[nodiscard]] std::string read_platform_directory(Reader& reader);

}  // namespace sluice::settings
