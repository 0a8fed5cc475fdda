#include "memory-pressure/io/status_client.h"

#include "common/base/errno_text.h"

#include "memory-pressure/io/status_text.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;
constexpr timeval kPatience{5, 0};

// The whole answer to one request, or the errno of what went wrong.
int exchange(const std::string& path, const std::string& request, std::string& answer) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  int failed = 0;
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    failed = errno;
  }
  char block[16 * 1024];
  while (failed == 0 && answer.size() < kAnswerBytesMax) {
    const ssize_t got = ::recv(descriptor, block, sizeof block, 0);
    if (got < 0) failed = errno;
    if (got <= 0) break;
    answer.append(block, static_cast<std::size_t>(got));
  }
  ::close(descriptor);
  return failed;
}

int complain(const std::string& what, const std::string& fix) {
  std::fprintf(stderr, "node-agent: %s; %s\n", what.c_str(), fix.c_str());
  return 1;
}

}  // namespace

std::string agent_socket(const std::string& state_dir) {
  return state_dir + "/agent.sock";
}

int ask_agent(const std::string& state_dir, const std::string& verb, bool json) {
  const std::string path = agent_socket(state_dir);
  const std::string method = verb == "status" ? "GET" : "POST";
  const std::string request = method + " /" + verb +
                              " HTTP/1.1\r\nHost: node-agent\r\nContent-Length: 0\r\n"
                              "Connection: close\r\n\r\n";
  std::string answer;
  if (const int failed = exchange(path, request, answer); failed != 0) {
    return complain("no node-agent answers on " + path + ": " + errno_text(failed),
                    "start it, or name its state directory with --state-dir");
  }
  const std::size_t end = answer.find("\r\n\r\n");
  const bool good = answer.starts_with("HTTP/1.1 20") && end != std::string::npos;
  if (!good) return complain("the agent on " + path + " gave an unknown answer", "see its log");
  std::string body = answer.substr(end + 4);
  if (verb == "status" && !json) {
    body = status_table(body);
    if (body.empty()) return complain("the agent is of another version", "ask with --json");
  }
  std::fputs(body.c_str(), stdout);
  return 0;
}

}  // namespace sluice::node_agent
