#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::activator {

/// One port of a group of addresses.
struct EndpointPort {
  std::string name;  ///< `http` or `http2` for what a sidecar serves
  std::uint16_t port = 0;
};

/// Addresses that share their ports, as an EndpointSlice or a subset of Endpoints has them.
struct EndpointGroup {
  std::vector<EndpointPort> ports;
  std::vector<std::pair<std::string, bool>> addresses;  ///< IP address, and whether it is ready
};

/// The destinations (`ip:port`, IPv6 in brackets) of all addresses that have the port called
/// `port_name`, and whether each is ready; sorted, each once, ready if any group says so. Groups
/// without that port are ignored (activator.md 6.1).
[[nodiscard]] std::vector<std::pair<std::string, bool>> destinations_of(
    std::span<const EndpointGroup> groups, std::string_view port_name);

}  // namespace sluice::activator
