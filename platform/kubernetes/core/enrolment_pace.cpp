#include "platform/kubernetes/core/enrolment_pace.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

constexpr Duration kQuestion = std::chrono::seconds{1};  // what one takes, or about that

}  // namespace

EnrolmentPace::Peer& EnrolmentPace::remember(const std::string& address) {
  const auto [at, added] = peers_.try_emplace(address);
  if (added) {
    at->second.place = order_.insert(order_.end(), address);
  } else {
    order_.splice(order_.end(), order_, at->second.place);
  }
  if (peers_.size() > kPeersMax) {
    peers_.erase(order_.front());
    order_.pop_front();
  }
  return at->second;
}

Duration EnrolmentPace::ask(const std::string& address, TimePoint now) {
  const auto known = peers_.find(address);
  if (known != peers_.end() && known->second.asks) return kQuestion;
  const bool stranger = known != peers_.end() && known->second.stranger;
  kube::TokenBucket& shared = stranger ? strangers_ : all_;
  const Duration own = known == peers_.end() ? Duration{0} : known->second.pace.wait(now);
  const Duration wait = std::max(own, shared.wait(now));
  if (wait > Duration{0}) return wait;
  Peer& peer = remember(address);
  (void)peer.pace.take(now);
  (void)shared.take(now);
  peer.asks = true;
  return Duration{0};
}

void EnrolmentPace::settled(const std::string& address, Verdict verdict) {
  const auto known = peers_.find(address);
  if (known == peers_.end()) return;
  known->second.asks = false;
  if (verdict != Verdict::unknown) known->second.stranger = verdict == Verdict::stranger;
}

}  // namespace sluice::autoscaler
