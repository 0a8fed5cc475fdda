#include "platform/process/sidecar.h"
#include <utility>

namespace sluice::local {
namespace {

/// The sidecar holds a question for at most 10 s (queue-proxy.md 10); the rest is for a busy
/// machine.
constexpr std::chrono::seconds kAnswerLimit{15};
constexpr std::size_t kBodyBytesMax = 4096;

ProbeAnswer meaning_of(const net::FetchResult& answer) {
  if (!answer) return ProbeAnswer::unreachable;
  const bool is_ready = answer->head.status == 200 && answer->body == "queue";
  return is_ready ? ProbeAnswer::ready : ProbeAnswer::not_ready;
}

}  // namespace

SidecarProbe::SidecarProbe(boost::asio::io_context& io, std::filesystem::path socket)
    : io_{io}, socket_{std::move(socket)} {}

void SidecarProbe::ask(std::function<void(ProbeAnswer)> callback) {
  fetch_.emplace(io_,
                 net::FetchRequest{.target = {.host = {}, .port = 0, .path = socket_.string()},
                                   .text = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
                                           "User-Agent: Knative-Activator-Probe\r\n"
                                           "K-Network-Probe: queue\r\nConnection: close\r\n\r\n",
                                   .timeout = kAnswerLimit,
                                   .body_max = kBodyBytesMax},
                 [callback = std::move(callback)](const net::FetchResult& answer) {
                   callback(meaning_of(answer));
                 });
}

}  // namespace sluice::local
