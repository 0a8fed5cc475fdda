#include "queue-proxy/core/drain.h"

namespace sluice::queue_proxy {
namespace {

constexpr Duration kTentative = std::chrono::seconds{1};

}  // namespace

void Drain::start(TimePoint now) {
  tentative_until_.reset();
  if (!quiet_until_ || !final_) quiet_until_ = now + quiet_;
  final_ = true;
}

void Drain::start_tentatively(TimePoint now) {
  if (draining()) return;
  quiet_until_ = now + quiet_;
  tentative_until_ = now + kTentative;
}

std::optional<TimePoint> Drain::wait_due(TimePoint arrived) const {
  if (draining()) return std::nullopt;
  return arrived + kTentative;
}

void Drain::arrived(TimePoint now) {
  // Once the quiet time has passed it stays passed: late requests are served, and extend nothing.
  if (quiet_until_ && now < *quiet_until_) quiet_until_ = now + quiet_;
}

bool Drain::expire_tentative(TimePoint now) {
  if (!tentative_until_ || now < *tentative_until_) return false;
  tentative_until_.reset();
  quiet_until_.reset();
  return true;
}

bool Drain::done(TimePoint now, std::size_t in_flight) const {
  return final_ && quiet_until_ && now >= *quiet_until_ && in_flight == 0;
}

}  // namespace sluice::queue_proxy
