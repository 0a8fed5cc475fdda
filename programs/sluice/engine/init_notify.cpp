#include "programs/sluice/engine/init_notify.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::local {
namespace {

constexpr int kFirstPassed = 3;
constexpr int kPassedMax = 16;

}  // namespace

void notify_init(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size == 0 || size >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, size);
  // A leading @ names a socket of the abstract kind.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  ::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
           reinterpret_cast<const sockaddr*>(&address), length);
  ::close(descriptor);
}

std::vector<int> passed_sockets() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::to_string(::getpid()) != pid) return {};
  std::vector<int> sockets;
  const int passed = std::min(kPassedMax, std::atoi(count));
  sockets.reserve(static_cast<std::size_t>(std::max(passed, 0)));
  for (int i = 0; i < passed; ++i) sockets.push_back(kFirstPassed + i);
  return sockets;
}

}  // namespace sluice::local
