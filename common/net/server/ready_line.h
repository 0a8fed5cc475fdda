#pragma once

#include "common/base/result.h"
#include "common/net/address.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::net {

/// Writes the ready line of protocols.md 1 to `descriptor` and closes it: every listener is bound.
void write_ready_line(int descriptor,
                      const std::vector<std::pair<std::string, Address>>& addresses);

/// The same for a descriptor named by --ready-fd or SLUICE_READY_FD: below 0 none
/// did and nothing is written; one that is not open is a problem.
[[nodiscard]] std::optional<Problem> tell_ready(
    int descriptor, const std::vector<std::pair<std::string, Address>>& addresses);

}  // namespace sluice::net
