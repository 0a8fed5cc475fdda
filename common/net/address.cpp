#include "common/net/address.h"

#include "common/net/ip_text.h"
#include "common/values/whole_number.h"

#include <sys/un.h>

namespace sluice::net {
namespace {

constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;

Problem bad_address(std::string_view text, std::string_view reason) {
  return {"bad address '" + std::string{text} + "': " + std::string{reason},
          "give host:port, :port or unix:/path"};
}

}  // namespace

std::string Address::text() const {
  if (is_unix()) return "unix:" + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address, Problem> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) {
    Address address;
    address.path = text.substr(5);
    if (address.path.empty()) return bad_address(text, "the socket path is empty");
    if (!address.path.starts_with('/')) return bad_address(text, "the socket path is not absolute");
    if (address.path.size() > kPathMax) {
      return bad_address(text, "a Unix socket path has at most " + std::to_string(kPathMax) +
                                   " bytes, this one " + std::to_string(address.path.size()));
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text, "there is no port");
  Address address;
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host == "localhost") address.host = "127.0.0.1";
  if (!address.host.empty() && !is_ip(address.host)) {
    return bad_address(text, "'" + address.host + "' is not an IP address");
  }
  const std::string_view port = text.substr(colon + 1);
  const auto number = whole_number<std::uint16_t>(port);
  if (!number) return bad_address(text, "'" + std::string{port} + "' is not a port (0 to 65535)");
  address.port = *number;
  return address;
}

}  // namespace sluice::net
