#pragma once

#include "common/kube/client.h"
#include "common/log/log.h"
#include "common/time/clock.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Which addresses are those of activators that an older chart has made: they speak plain text, and
/// an upgrade must not lose what they hold. Pods of this chart are labelled `sluice.dev/stream-tls:
/// mutual`. The API server is called when a peer connects in plain text, and its answer kept for a
/// moment.
class PlainActivators {
 public:
  static constexpr Duration kFresh = std::chrono::seconds{2};

  /// Who may wait for an answer; more are refused.
  static constexpr std::size_t kWaitingMax = 256;

  /// All references outlive this.
  PlainActivators(const Clock& clock, const log::Logger& log, kube::Client& client,
                  const std::string& space);

  /// `answer` is called once: later, or at once.
  void ask(const std::string& ip, std::function<void(bool)> answer);

 private:
  void have(const kube::Answer& pods);

  const Clock& clock_;  // App's, as the others
  const log::Logger& log_;
  kube::Client& client_;
  std::string path_;
  kube::Client::Call call_;
  std::set<std::string> addresses_;
  TimePoint known_at_{};
  bool asking_ = false;
  std::vector<std::pair<std::string, std::function<void(bool)>>> waiting_;
};

/// The addresses of the running pods in a list of pods.
[[nodiscard]] std::set<std::string> addresses_of_pods(std::string_view list);

}  // namespace sluice::autoscaler
