#include "activator/core/endpoints.h"

#include <algorithm>
#include <map>

namespace sluice::activator {

std::vector<std::pair<std::string, bool>> destinations_of(std::span<const EndpointGroup> groups,
                                                          std::string_view port_name) {
  std::map<std::string, bool> found;
  for (const EndpointGroup& group : groups) {
    const auto port = std::find_if(group.ports.begin(), group.ports.end(),
                                   [&](const EndpointPort& one) { return one.name == port_name; });
    if (port == group.ports.end()) {
      continue;
    }
    for (const auto& [ip, ready] : group.addresses) {
      const bool is_v6 = ip.find(':') != std::string::npos;
      const std::string host = is_v6 ? "[" + ip + "]" : ip;
      found[host + ":" + std::to_string(port->port)] |= ready;
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace sluice::activator
