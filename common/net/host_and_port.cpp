#include "common/net/host_and_port.h"

#include "common/values/whole_number.h"

#include <cstdint>

namespace sluice::net {

std::optional<HostAndPort> host_and_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const std::string_view port = address.substr(colon + 1);
  if (!whole_number<std::uint16_t>(port, 1)) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("/ \t\r\n[]") != std::string_view::npos) {
    return std::nullopt;
  }
  return HostAndPort{.host = std::string{host}, .port = std::string{port}};
}

bool is_dialable(std::string_view address) {
  return address.starts_with("unix:/") || host_and_port(address);
}

}  // namespace sluice::net
