#include "queue-proxy/core/readiness.h"

#include <algorithm>

namespace sluice::queue_proxy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kRunLongest = seconds{10};
constexpr Duration kEagerTime = seconds{2};
constexpr Duration kEagerGap = milliseconds{2};
constexpr Duration kGap = milliseconds{50};
constexpr Duration kAttempt = milliseconds{100};
// A probe without a timeout still ends: nothing waits without a bound.
constexpr Duration kUnsetTimeout = seconds{30};

}  // namespace

ProbeRun::Next ProbeRun::begin(TimePoint now) {
  if (spec_.kind == ProbeSpec::Kind::none) return {Step::failed};
  begun_ = now;
  http_gap_ = kEagerGap;
  port_open_ = false;
  const bool aggressive = spec_.period == Duration{0};
  const Duration timeout =
      aggressive ? kAttempt : (spec_.timeout == Duration{0} ? kUnsetTimeout : spec_.timeout);
  if (spec_.kind == ProbeSpec::Kind::tcp || aggressive) return {Step::connect, Duration{0}, timeout};
  return {Step::http, Duration{0}, timeout};
}

ProbeRun::Next ProbeRun::attempted(bool success, TimePoint now) {
  if (spec_.period != Duration{0}) return {success ? Step::passed : Step::failed};
  if (!success) {
    successes_ = 0;
    return aggressive_next(now);
  }
  if (spec_.kind == ProbeSpec::Kind::http && !port_open_) {
    port_open_ = true;
    return {Step::http, Duration{0}, kAttempt};
  }
  successes_ = std::min(successes_ + 1, spec_.success_threshold);
  if (successes_ >= spec_.success_threshold) return {Step::passed};
  return aggressive_next(now);
}

ProbeRun::Next ProbeRun::aggressive_next(TimePoint now) {
  const Duration spent = now - begun_;
  if (spent >= kRunLongest) return {Step::failed};
  const bool eager = spent < kEagerTime;
  if (spec_.kind == ProbeSpec::Kind::http && port_open_) {
    const Duration gap = eager ? http_gap_ : kGap;
    http_gap_ = std::min(http_gap_ * 2, kGap);
    return {Step::http, gap, kAttempt};
  }
  return {Step::connect, eager ? kEagerGap : kGap, kAttempt};
}

}  // namespace sluice::queue_proxy
