#pragma once

#include <algorithm>
#include <cstdint>

namespace sluice::placement {

/// A share in parts per million.
using Ppm = std::int64_t;
inline constexpr Ppm kWhole = 1'000'000;

/// A capacity that bounds nothing. Adding to it and taking from it leaves it as it is.
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 60;

/// What replicas need, or a node has.
struct Resources {
  std::int64_t cpu = 0;     ///< millicores
  std::int64_t memory = 0;  ///< bytes
  std::int64_t slots = 0;   ///< replicas

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);

  friend Resources operator+(Resources left, const Resources& right) { return left += right; }

  friend Resources operator-(Resources left, const Resources& right) { return left -= right; }

  /// Of that many replicas; saturates at kUnbounded.
  friend Resources operator*(const Resources& one, std::int64_t replicas);
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Nothing bounds it.
inline constexpr Resources kAnything{kUnbounded, kUnbounded, kUnbounded};

/// Whether `need` fits into `room`. What is not needed may be overdrawn.
[[nodiscard]] constexpr bool fits(const Resources& need, const Resources& room) {
  return (need.cpu <= 0 || need.cpu <= room.cpu) &&
         (need.memory <= 0 || need.memory <= room.memory) &&
         (need.slots <= 0 || need.slots <= room.slots);
}

/// How many of `each` go into `room`; at most as many as an int32 holds.
[[nodiscard]] std::int64_t times(const Resources& room, const Resources& each);

/// The smaller of both in each resource, at least 0.
[[nodiscard]] constexpr Resources common_part(const Resources& left, const Resources& right) {
  return {std::max<std::int64_t>(0, std::min(left.cpu, right.cpu)),
          std::max<std::int64_t>(0, std::min(left.memory, right.memory)),
          std::max<std::int64_t>(0, std::min(left.slots, right.slots))};
}

/// Shares are counted up to so many wholes.
inline constexpr std::int64_t kWholesMax = 1000;

/// `part` of `whole`: 0 of what is unbounded, kWhole of a whole of 0 or less unless there is no
/// part. Above kWhole when it is more than all. A larger part of the same whole never has a smaller
/// share.
[[nodiscard]] Ppm share_of(std::int64_t part, std::int64_t whole);

/// The largest of the shares of `part` in `whole`.
[[nodiscard]] Ppm dominant_share(const Resources& part, const Resources& whole);

}  // namespace sluice::placement
