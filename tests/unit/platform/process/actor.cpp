// The other side of the process tests: an app, or a stand-in for the sidecar, whatever it is asked
// to be. Plain POSIX, so that it starts at once and depends on nothing that is being tested.

#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

int listen_on(const std::string& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::exit(9);
  ::listen(fd, 16);
  std::printf("listening on %s\n", port.c_str());
  std::fflush(stdout);
  return fd;
}

[[noreturn]] void wait_for_signal() {
  for (;;) ::pause();
}

bool port_answers(const char* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool answers =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return answers;
}

/// Answers one probe: held for up to 200 ms until the app's port accepts.
void answer(int peer) {
  char request[4096];
  const auto size = ::read(peer, request, sizeof request - 1);
  if (size <= 0) return;
  request[size] = '\0';
  const bool asked = std::strstr(request, "K-Network-Probe: queue") != nullptr &&
                     std::strstr(request, "Knative-Activator-Probe") != nullptr;
  bool ready = false;
  for (int tries = 0; asked && !ready && tries < 100; ++tries) {
    ready = port_answers(std::getenv("USER_PORT"));
    if (!ready) ::poll(nullptr, 0, 2);
  }
  const std::string body = ready ? "queue" : "";
  const std::string response =
      std::string("HTTP/1.1 ") + (ready ? "200 OK" : "503 Service Unavailable") +
      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  static_cast<void>(!::write(peer, response.data(), response.size()));
}

int run_sidecar() {
  const std::string path = std::string(std::getenv("QUEUE_SERVING_PORT")).substr(5);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return 8;
  ::listen(fd, 16);
  const std::string line = "{\"ready\":true,\"addresses\":{}}\n";
  static_cast<void>(!::write(std::atoi(std::getenv("SLUICE_READY_FD")), line.data(), line.size()));
  for (;;) {
    const int peer = ::accept(fd, nullptr, nullptr);
    if (peer < 0) continue;
    answer(peer);
    ::close(peer);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "sidecar";
  const std::string argument = argc > 2 ? argv[2] : "";
  if (mode == "sidecar") return run_sidecar();
  if (mode == "exit") {
    for (int i = 3; i < argc; ++i) std::fprintf(stderr, "%s\n", argv[i]);
    return std::atoi(argument.c_str());
  }
  if (mode == "stubborn") ::signal(SIGTERM, SIG_IGN);
  if (mode == "forking" && ::fork() != 0) wait_for_signal();
  if (mode == "print-env") {
    const char* value = std::getenv(argument.c_str());
    std::printf("%s\n", value == nullptr ? "(unset)" : value);
    return 0;
  }
  if (mode == "listen" || mode == "stubborn" || mode == "forking") listen_on(argument);
  wait_for_signal();
}
