#include "memory-pressure/io/status_client.h"

#include "common/net/fetch.h"

#include "memory-pressure/io/status_text.h"
#include <cstdio>

namespace sluice::node_agent {
namespace {

constexpr std::size_t kAnswerBytesMax = std::size_t{16} << 20U;
constexpr std::chrono::seconds kPatience{5};

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
  const auto answer = net::fetch_now(
      {.target = {.host = {}, .port = 0, .path = path},
       .text = method + " /" + verb +
               " HTTP/1.1\r\nHost: node-agent\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
       .timeout = kPatience,
       .body_max = kAnswerBytesMax});
  if (!answer && answer.error().error != Error::upstream_invalid) {
    return complain("no node-agent answers on " + path + ": " + answer.error().why,
                    "start it, or name its state directory with --state-dir");
  }
  if (!answer || answer->head.status / 100 != 2) {
    return complain("the agent on " + path + " gave an unknown answer", "see its log");
  }
  std::string body = answer->body;
  if (verb == "status" && !json) {
    body = status_table(body);
    if (body.empty()) return complain("the agent is of another version", "use --json");
  }
  std::fputs(body.c_str(), stdout);
  return 0;
}

}  // namespace sluice::node_agent
