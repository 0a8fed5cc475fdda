#include "common/load/request_stats.h"

namespace sluice::load {

RequestStats::RequestStats(TimePoint start) : last_(start) {}

void RequestStats::in(TimePoint now) {
  advance(now);
  requests_ += 1;
  concurrency_ += 1;
}

void RequestStats::out(TimePoint now) {
  advance(now);
  concurrency_ -= 1;
}

void RequestStats::proxied_in(TimePoint now) {
  advance(now);
  proxied_concurrency_ += 1;
  proxied_requests_ += 1;
  requests_ += 1;
  concurrency_ += 1;
}

void RequestStats::proxied_out(TimePoint now) {
  advance(now);
  proxied_concurrency_ -= 1;
  concurrency_ -= 1;
}

LoadReport RequestStats::report(TimePoint now) {
  advance(now);
  LoadReport closed{.request_count = requests_, .proxied_request_count = proxied_requests_};
  if (seconds_ > 0) {
    closed.average_concurrency = area_ / seconds_;
    closed.average_proxied_concurrency = proxied_area_ / seconds_;
  }
  seconds_ = area_ = proxied_area_ = requests_ = proxied_requests_ = 0;
  return closed;
}

void RequestStats::advance(TimePoint now) {
  const Duration passed = now - last_;
  if (passed <= Duration::zero()) {
    return;
  }
  const double seconds = to_seconds(passed);
  seconds_ += seconds;
  area_ += concurrency_ * seconds;
  proxied_area_ += proxied_concurrency_ * seconds;
  last_ = now;
}

}  // namespace sluice::load
