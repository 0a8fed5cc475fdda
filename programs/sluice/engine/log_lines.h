#pragma once

#include "platform/process/service_log.h"
#include <string>
#include <vector>

namespace sluice::local {

/// Lines of a service's log as the API's `logs` answers them.
[[nodiscard]] std::string log_text(const std::vector<LogLine>& lines, bool times);

}  // namespace sluice::local
