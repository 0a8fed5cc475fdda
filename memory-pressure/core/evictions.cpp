#include "memory-pressure/core/evictions.h"

namespace sluice::node_agent {
namespace {

/// The kubelet looks every 10 s, kills with a grace, and takes the sandbox down after that.
constexpr Duration kLately = std::chrono::seconds{30};
constexpr std::size_t kPodsMax = 1024;
constexpr std::int32_t kTerminatedCode = 143;  // 128 + SIGTERM

}  // namespace

bool Evictions::container_ended(const std::string& pod_uid, const Ending& ending, TimePoint now) {
  Pod* const pod = known(pod_uid, now);
  if (pod == nullptr) return false;
  switch (exit_cause(ending)) {
    case ExitCause::killed:
      pod->killed = true;
      break;
    case ExitCause::failed:
      pod->killed = pod->killed || ending.exit_code == kTerminatedCode;
      break;
    case ExitCause::oom_killed:
    case ExitCause::sacrificed:
      pod->spared = true;
      break;
    case ExitCause::none:
    case ExitCause::completed:
      break;
  }
  return conclude(*pod, now);
}

bool Evictions::pod_ended(const std::string& pod_uid, TimePoint now) {
  Pod* const pod = known(pod_uid, now);
  if (pod == nullptr) return false;
  pod->ended = true;
  return conclude(*pod, now);
}

Evictions::Pod* Evictions::known(const std::string& uid, TimePoint now) {
  if (uid.empty()) return nullptr;
  if (!pods_.contains(uid)) {
    std::erase_if(pods_, [now](const auto& entry) { return now - entry.second.at >= kLately; });
    if (pods_.size() >= kPodsMax) return nullptr;
  }
  Pod& pod = pods_[uid];
  pod.at = now;
  return &pod;
}

bool Evictions::conclude(Pod& pod, TimePoint now) const {
  const bool was_short = short_at_ && now - *short_at_ < kLately;
  if (!pod.ended || !pod.killed || pod.spared || !was_short) return false;
  pod.spared = true;  // said once
  return true;
}

}  // namespace sluice::node_agent
