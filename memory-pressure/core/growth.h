#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstdint>
#include <optional>

namespace sluice::node_agent {

/// How the memory of one container has moved, in constant space. Samples carry their own time; one
/// that is not newer than the last is not counted twice, and what jumps by minutes is no slope.
class Growth {
 public:
  /// Takes a working set of `bytes`, read at `sampled`; `now` is the policy's own time.
  void sample(std::int64_t bytes, TimePoint sampled, TimePoint now);

  /// Bytes per second, weighted by age with a half-life of 1 s; negative while memory is given
  /// back.
  [[nodiscard]] double slope() const { return slope_; }

  /// The most that was added within 3 s. Forgotten by half in 10 minutes.
  [[nodiscard]] std::int64_t largest_rise() const { return static_cast<std::int64_t>(rise_); }

  /// The most that was held. What lies above today's use is forgotten by half in 10 minutes.
  [[nodiscard]] std::int64_t high_water() const { return static_cast<std::int64_t>(high_); }

  /// Whether it has risen for a minute without giving anything back (memory-pressure.md 5.3).
  [[nodiscard]] bool is_leaking() const { return rising_spells_ >= kLeakSpells; }

 private:
  struct Bucket {
    TimePoint began;
    std::int64_t least = 0;
  };

  static constexpr int kLeakSpells = 3;

  void note_rise(std::int64_t bytes, TimePoint now);
  void note_leak(std::int64_t bytes, TimePoint now);

  std::optional<TimePoint> sampled_;
  TimePoint seen_;
  std::int64_t last_ = 0;
  double slope_ = 0;
  double rise_ = 0;
  double high_ = 0;
  std::array<Bucket, 6> buckets_{};
  std::size_t bucket_count_ = 0;
  TimePoint spell_began_;
  std::int64_t spell_from_ = 0;
  std::int64_t spell_peak_ = 0;
  int rising_spells_ = 0;
};

}  // namespace sluice::node_agent
