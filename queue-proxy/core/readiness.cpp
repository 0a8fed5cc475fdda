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
  begun_ = now;
  answer_gap_ = kEagerGap;
  failures_ = 0;
  if (spec_.kind == ProbeSpec::Kind::none) return {Step::failed};
  if (aggressive()) return {Step::attempt, Duration{0}, kAttempt};
  if (spec_.timeout != Duration{0}) return {Step::attempt, Duration{0}, spec_.timeout};
  // The reference's gRPC client takes no timeout for one that has passed already.
  if (spec_.kind == ProbeSpec::Kind::grpc) return {Step::failed};
  return {Step::attempt, Duration{0}, kUnsetTimeout};
}

ProbeRun::Next ProbeRun::attempted(Attempt outcome, TimePoint now) {
  const bool passed = outcome == Attempt::passed;
  failures_ += passed ? 0 : 1;
  if (!aggressive()) return {passed ? Step::passed : Step::failed};
  successes_ = passed ? std::min(successes_ + 1, spec_.success_threshold) : 0;
  if (passed && successes_ >= spec_.success_threshold) return {Step::passed};
  return again(outcome, now);
}

ProbeRun::Next ProbeRun::again(Attempt outcome, TimePoint now) {
  const Duration spent = now - begun_;
  if (spent >= kRunLongest) return {Step::failed};
  if (spent >= kEagerTime) return {Step::attempt, kGap, kAttempt};
  if (outcome == Attempt::refused || spec_.kind == ProbeSpec::Kind::tcp) {
    return {Step::attempt, kEagerGap, kAttempt};
  }
  const Duration gap = answer_gap_;
  answer_gap_ = std::min(answer_gap_ * 2, kGap);
  return {Step::attempt, gap, kAttempt};
}

std::string ProbeRun::failure(std::string_view last_error) const {
  std::string line;
  if (spec_.kind != ProbeSpec::Kind::none && aggressive()) {
    line = "aggressive probe error (failed " + std::to_string(failures_) + " times): ";
  }
  line += last_error;
  return line;
}

}  // namespace sluice::queue_proxy
