#include "memory-pressure/core/growth.h"

#include <algorithm>
#include <cmath>

namespace sluice::node_agent {
namespace {

constexpr double kHalfLife = 1.0;
constexpr double kForgetHalf = 600.0;
/// Two samples further apart say nothing about a rate of now: the agent or the runtime was away.
constexpr Duration kGapMax = std::chrono::seconds{10};
constexpr Duration kBucket = std::chrono::milliseconds{500};
constexpr Duration kRiseWindow = std::chrono::seconds{3};
constexpr Duration kSpell = std::chrono::seconds{20};
/// Less in a spell is the noise of allocators.
constexpr std::int64_t kSpellRise = std::int64_t{1} << 20;
/// Given back from the peak: a release phase. Garbage collectors give back more, caches less.
constexpr double kReleased = 0.02;

double halved(double seconds, double half_life) {
  return std::exp2(-seconds / half_life);
}

}  // namespace

void Growth::sample(std::int64_t bytes, TimePoint sampled, TimePoint now) {
  if (!sampled_) {
    high_ = static_cast<double>(bytes);
    spell_began_ = now;
    spell_from_ = spell_peak_ = bytes;
  } else {
    const Duration gap = sampled - *sampled_;
    if (gap == Duration::zero()) return;
    // A clock that was set back restarts the slope, and nothing else.
    if (gap > Duration::zero() && gap <= kGapMax) {
      const double seconds = to_seconds(gap);
      const double weight = 1 - halved(seconds, kHalfLife);
      slope_ += weight * (static_cast<double>(bytes - last_) / seconds - slope_);
    } else {
      slope_ = 0;
    }
    const double forgotten = halved(to_seconds(now - seen_), kForgetHalf);
    const double over = std::max(0.0, high_ - static_cast<double>(bytes));
    high_ = static_cast<double>(bytes) + over * forgotten;
    rise_ *= forgotten;
  }
  sampled_ = sampled;
  seen_ = now;
  last_ = bytes;
  note_rise(bytes, now);
  note_leak(bytes, now);
}

void Growth::note_rise(std::int64_t bytes, TimePoint now) {
  // The least of each half second of the last three; what is older no longer counts.
  if (bucket_count_ > 0 && now - buckets_[0].began < kBucket) {
    buckets_[0].least = std::min(buckets_[0].least, bytes);
  } else {
    std::move_backward(buckets_.begin(), buckets_.end() - 1, buckets_.end());
    buckets_[0] = {.began = now, .least = bytes};
    bucket_count_ = std::min(bucket_count_ + 1, buckets_.size());
  }
  for (std::size_t i = 0; i < bucket_count_; ++i) {
    if (now - buckets_[i].began > kRiseWindow) continue;
    rise_ = std::max(rise_, static_cast<double>(bytes - buckets_[i].least));
  }
}

void Growth::note_leak(std::int64_t bytes, TimePoint now) {
  spell_peak_ = std::max(spell_peak_, bytes);
  const bool released =
      static_cast<double>(bytes) < static_cast<double>(spell_peak_) * (1 - kReleased);
  const bool over = now - spell_began_ >= kSpell;
  if (!released && !over) return;
  const bool rose = !released && bytes - spell_from_ >= kSpellRise;
  rising_spells_ = rose ? std::min(rising_spells_ + 1, kLeakSpells) : 0;
  spell_began_ = now;
  spell_from_ = spell_peak_ = bytes;
}

}  // namespace sluice::node_agent
