#pragma once

#include "common/net/address.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice::net {

/// Writes the ready line of protocols.md 1 to `descriptor` and closes it: every listener is bound.
void write_ready_line(int descriptor,
                      const std::vector<std::pair<std::string, Address>>& addresses);

}  // namespace sluice::net
