// An application that starts as fast as one can: listens on $PORT at once and answers every request
// with its own times, in monotonic nanoseconds: exec=... listen=... in=... out=...
// What lies between exec and listen, and between in and out, is its own and no platform's.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

namespace {

long long nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int listen_on(const char* port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<unsigned short>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener, 64) != 0) {
    std::perror("quick_app: listen");
    return -1;
  }
  return listener;
}

// Answers one connection's one request; a connection that sends none was a probe.
void serve(int connection, long long executed, long long listening) {
  char request[8192];
  const ssize_t got = read(connection, request, sizeof request);
  if (got <= 0) return;
  const long long in = nanoseconds();
  char body[256];
  const int size = std::snprintf(body, sizeof body, "exec=%lld listen=%lld in=%lld out=%lld\n",
                                 executed, listening, in, nanoseconds());
  char answer[512];
  const int whole = std::snprintf(answer, sizeof answer,
                                  "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n"
                                  "Connection: close\r\n\r\n%s",
                                  size, body);
  if (write(connection, answer, static_cast<std::size_t>(whole)) != whole) return;
  shutdown(connection, SHUT_WR);
}

}  // namespace

int main() {
  const long long executed = nanoseconds();
  const char* port = std::getenv("PORT");
  const int listener = port == nullptr ? -1 : listen_on(port);
  if (listener < 0) return 1;
  const long long listening = nanoseconds();
  while (true) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) return 1;
    serve(connection, executed, listening);
    close(connection);
  }
}
