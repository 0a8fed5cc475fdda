#include "common/breaker/breaker.h"

#include "common/base/check.h"

namespace sluice::breaker {

Breaker::Breaker(const BreakerSpec& spec)
    : capacity_(spec.concurrency), queue_depth_(spec.queue_depth) {
  CHECK(spec.concurrency >= 0);
  CHECK(spec.queue_depth >= 1);
}

Entered Breaker::enter(TimePoint now) {
  if (reserve()) {
    return {.entry = Entry::admitted, .ticket = {}};
  }
  if (waiting_.size() >= queue_depth_) {
    return {.entry = Entry::refused, .ticket = {}};
  }
  return {.entry = Entry::queued, .ticket = waiting_.push_back(now, {})};
}

bool Breaker::reserve() {
  if (running_ >= capacity_) {
    return false;
  }
  CHECK(waiting_.empty());
  ++running_;
  return true;
}

std::optional<Ticket> Breaker::leave() {
  CHECK(running_ > 0);
  --running_;
  return admit_next();
}

bool Breaker::cancel(Ticket ticket) {
  if (!waiting_.contains(ticket)) {
    return false;
  }
  waiting_.remove(ticket);
  return true;
}

std::optional<TimePoint> Breaker::oldest_waiting() const {
  const std::optional<Ticket> oldest = waiting_.front();
  return oldest ? std::optional<TimePoint>(waiting_.since(*oldest)) : std::nullopt;
}

std::optional<Ticket> Breaker::expire(TimePoint now, Duration age_max) {
  const std::optional<Ticket> oldest = waiting_.front();
  if (!oldest || now - waiting_.since(*oldest) < age_max) {
    return std::nullopt;
  }
  waiting_.remove(*oldest);
  return oldest;
}

std::optional<Ticket> Breaker::admit_next() {
  const std::optional<Ticket> next = waiting_.front();
  if (!next || running_ >= capacity_) {
    return std::nullopt;
  }
  waiting_.remove(*next);
  ++running_;
  return next;
}

}  // namespace sluice::breaker
