#include "common/net/server/ready_line.h"

#include <fcntl.h>
#include <unistd.h>

namespace sluice::net {

void write_ready_line(int descriptor,
                      const std::vector<std::pair<std::string, Address>>& addresses) {
  std::string line = "{\"ready\":true,\"addresses\":{";
  for (const auto& [name, address] : addresses) {
    if (line.back() != '{') line += ',';
    line.append("\"").append(name).append("\":\"").append(address.text()).append("\"");
  }
  line += "}}\n";
  // The reader may have gone; that is its own affair.
  [[maybe_unused]] const ssize_t written = ::write(descriptor, line.data(), line.size());
  ::close(descriptor);
}

std::optional<Problem> tell_ready(int descriptor,
                                  const std::vector<std::pair<std::string, Address>>& addresses) {
  if (descriptor < 0) return std::nullopt;
  if (::fcntl(descriptor, F_GETFD) < 0) {
    return Problem{"descriptor " + std::to_string(descriptor) +
                       " of --ready-fd or SLUICE_READY_FD is not open",
                   "pass an open one, or none"};
  }
  write_ready_line(descriptor, addresses);
  return std::nullopt;
}

}  // namespace sluice::net
