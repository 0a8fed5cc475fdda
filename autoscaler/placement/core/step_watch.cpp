#include "autoscaler/placement/core/step_watch.h"

#include <algorithm>

namespace sluice::placement {
namespace {

// Counts that fall belong to a front door that has started again: they say nothing.
Tally since(const Tally& now, const Tally& before) {
  Tally ended{.requests = std::max<std::int64_t>(0, now.requests - before.requests),
              .failed = std::max<std::int64_t>(0, now.failed - before.failed)};
  ended.failed = std::min(ended.failed, ended.requests);
  return ended;
}

}  // namespace

void StepWatch::begin_shift(const Tally& from, const Tally& to) {
  shift_from_ = from;
  step_from_ = from;
  step_to_ = to;
  began_.reset();
}

void StepWatch::begin_step(const Tally& from, const Tally& to, Duration at) {
  step_from_ = from;
  step_to_ = to;
  began_ = at;
}

// As shares: failed / requests at the new place against failed / requests at the old, and a tenth.
// `requests` is what the failures are a share of.
bool StepWatch::fails(std::int64_t requests) const {
  if (old_.requests == 0) return new_.failed * kExcessDivisor > requests;
  return new_.failed * old_.requests * kExcessDivisor >
         old_.failed * requests * kExcessDivisor + requests * old_.requests;
}

StepWatch::Verdict StepWatch::look(const Tally& from, const Tally& to, bool open, bool quiet,
                                   Duration at) {
  new_ = since(to, step_to_);
  old_ = since(from, step_from_);
  const std::int64_t beside = old_.requests;
  if (beside == 0) old_ = since(from, shift_from_);
  const Duration waited = at - *began_;
  const auto verdict = [&] {
    // At once, when no further success among the first requests can make up for it.
    if (fails(std::max(new_.requests, kFirstRequests))) return Verdict::failed;
    const bool overdue = waited >= kShiftPatience * hold_;
    if (!open) return overdue ? Verdict::overdue : Verdict::open;
    if (quiet) return Verdict::passed;
    if (waited < hold_ && new_.requests < kFirstRequests) return Verdict::open;
    if (new_.requests > 0) return fails(new_.requests) ? Verdict::failed : Verdict::passed;
    // Requests come, and none at the new place: few are no sign, many are.
    if (!overdue) return Verdict::open;
    return beside >= kFirstRequests ? Verdict::overdue : Verdict::passed;
  }();
  if (verdict != Verdict::open) began_.reset();
  return verdict;
}

std::string StepWatch::words(const std::string& from, const std::string& to) const {
  return std::to_string(new_.failed) + " of " + std::to_string(new_.requests) +
         " requests failed at " + to + ", " + std::to_string(old_.failed) + " of " +
         std::to_string(old_.requests) + " at " + from;
}

}  // namespace sluice::placement
