#pragma once

#include <arpa/inet.h>
#include <string>

namespace sluice::net {

/// Whether `host` is a literal IP address, not a name.
[[nodiscard]] inline bool is_ip(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace sluice::net
