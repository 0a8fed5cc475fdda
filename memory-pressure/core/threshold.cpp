#include "memory-pressure/core/threshold.h"

#include "memory-pressure/core/quota.h"
#include <algorithm>

namespace sluice::node_agent {
namespace {

constexpr double kStallLowers = 10.0;  // percent of `some`
constexpr double kLoweredByStall = 0.03;
constexpr double kSomeActs = 25.0;
constexpr double kFullActs = 5.0;
/// Of capacity. Below it a stall is a story of disks, or of one container's own limit.
constexpr double kStallCounts = 0.60;
constexpr double kQuiet = 0.1;
constexpr Duration kQuietFor = std::chrono::seconds{60};
constexpr Duration kRaiseEvery = std::chrono::seconds{60};
constexpr double kRaiseBy = 0.01;
constexpr double kRaisedMost = 0.97;
constexpr double kLoweredByEviction = 0.02;
constexpr Duration kEvictionCounts = std::chrono::minutes{10};

double usage_of(const NodeMemory& memory) {
  return memory.capacity > 0
             ? static_cast<double>(memory.used) / static_cast<double>(memory.capacity)
             : 0;
}

}  // namespace

Duration reaction(const PolicySettings& settings, double usage) {
  const Duration sample = usage > settings.lower ? settings.fast_sample : settings.sample;
  return sample + settings.update_latency * settings.step + std::chrono::microseconds{kPeriodUs};
}

void Threshold::update(const NodeMemory& memory, double growth, bool evicted, TimePoint now) {
  const double usage = usage_of(memory);
  if (evicted) evicted_at_ = now;
  if (evicted_at_ && now - *evicted_at_ >= kEvictionCounts) evicted_at_.reset();
  note_quiet(memory, usage, now);

  upper_ = std::max(settings_.upper, std::min(settings_.upper + raised_, kRaisedMost));
  stalling_ = false;
  if (memory.stall) {
    if (memory.stall->some_avg10 > kStallLowers) upper_ -= kLoweredByStall;
    stalling_ = usage > kStallCounts &&
                (memory.stall->some_avg10 > kSomeActs || memory.stall->full_avg10 > kFullActs);
  }
  if (evicted_at_) upper_ -= kLoweredByEviction;
  if (memory.capacity > 0 && growth > 0) {
    const double grown =
        growth * to_seconds(reaction(settings_, usage)) / static_cast<double>(memory.capacity);
    upper_ = std::min(upper_, 1 - grown - settings_.margin);
  }
  upper_ = std::max(upper_, 0.0);
}

void Threshold::note_quiet(const NodeMemory& memory, double usage, TimePoint now) {
  // Without stall information it is unknown whether high usage hurts: U stays where it was set.
  const bool quiet = memory.stall && memory.stall->some_avg10 < kQuiet && usage > settings_.upper;
  if (!quiet) {
    quiet_since_.reset();
    raised_at_.reset();
    const bool hurts = memory.stall && memory.stall->some_avg10 > kStallLowers;
    if (hurts || usage < settings_.lower) raised_ = 0;
    return;
  }
  if (!quiet_since_) quiet_since_ = now;
  if (now - *quiet_since_ < kQuietFor) return;
  if (raised_at_ && now - *raised_at_ < kRaiseEvery) return;
  raised_at_ = now;
  raised_ = std::min(raised_ + kRaiseBy, kRaisedMost - settings_.lower);
}

}  // namespace sluice::node_agent
