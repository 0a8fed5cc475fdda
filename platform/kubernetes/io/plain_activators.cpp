#include "platform/kubernetes/io/plain_activators.h"

#include "common/kube/json_read.h"

#include <utility>

namespace sluice::autoscaler {
namespace {

// app.kubernetes.io/name=activator,sluice.dev/stream-tls!=mutual
constexpr const char* kChosen =
    "/pods?labelSelector=app.kubernetes.io%2Fname%3Dactivator%2Csluice.dev%2Fstream-tls%21%"
    "3Dmutual";

}  // namespace

std::set<std::string> addresses_of_pods(std::string_view list) {
  std::set<std::string> all;
  nlohmann::json document;
  if (!kube::parse_document(list, document)) return all;
  for (const auto& pod : reading::array(document, "items")) {
    const auto& status = reading::member(pod, "status");
    const std::string phase = reading::text(status, "phase");
    const std::string ip = reading::text(status, "podIP");
    const bool on_host = reading::flag(reading::member(pod, "spec"), "hostNetwork");
    if (phase != "Succeeded" && phase != "Failed" && !ip.empty() && !on_host) all.insert(ip);
    for (const auto& each : reading::array(status, "podIPs")) {
      const std::string also = reading::text(each, "ip");
      if (all.contains(ip) && !also.empty()) all.insert(also);
    }
  }
  return all;
}

PlainActivators::PlainActivators(const Clock& clock, const log::Logger& log, kube::Client& client,
                                 const std::string& space)
    : clock_{clock}, log_{log}, client_{client}, path_{"/api/v1/namespaces/" + space + kChosen} {}

void PlainActivators::ask(const std::string& ip, std::function<void(bool)> answer) {
  const TimePoint now = clock_.now();
  // A clock that steps back makes nothing fresh.
  if (now >= known_at_ && now - known_at_ < kFresh) return answer(addresses_.contains(ip));
  if (waiting_.size() >= kWaitingMax) return answer(false);
  waiting_.emplace_back(ip, std::move(answer));
  if (std::exchange(asking_, true)) return;
  call_ = client_.send({.verb = kube::Verb::get, .path = path_},
                       [this](const kube::Answer& pods) { have(pods); });
}

// Without an answer no peer is let in, and the next one asks again.
void PlainActivators::have(const kube::Answer& pods) {
  asking_ = false;
  if (pods) {
    addresses_ = addresses_of_pods(*pods);
    known_at_ = clock_.now();
  } else {
    addresses_.clear();
    log_.write(
        log::Severity::warning,
        "the activators cannot be listed (needs list on pods): streams in plain text are refused",
        {{"why", pods.error().text()}});
  }
  for (const auto& [ip, answer] : std::exchange(waiting_, {})) answer(addresses_.contains(ip));
}

}  // namespace sluice::autoscaler
