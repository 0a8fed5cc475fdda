#include "autoscaler/placement/core/resources.h"

#include <bit>
#include <limits>

namespace sluice::placement {
namespace {

std::int64_t plus(std::int64_t left, std::int64_t right) {
  return left >= kUnbounded || right >= kUnbounded ? kUnbounded
                                                   : std::min(left + right, kUnbounded);
}

std::int64_t minus(std::int64_t left, std::int64_t right) {
  return left >= kUnbounded ? kUnbounded : left - right;
}

std::int64_t times(std::int64_t amount, std::int64_t count) {
  if (amount <= 0 || count <= 0) return 0;
  return amount > kUnbounded / count ? kUnbounded : amount * count;
}

}  // namespace

Resources& Resources::operator+=(const Resources& other) {
  cpu = plus(cpu, other.cpu);
  memory = plus(memory, other.memory);
  slots = plus(slots, other.slots);
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  cpu = minus(cpu, other.cpu);
  memory = minus(memory, other.memory);
  slots = minus(slots, other.slots);
  return *this;
}

Resources operator*(const Resources& one, std::int64_t replicas) {
  return {times(one.cpu, replicas), times(one.memory, replicas), times(one.slots, replicas)};
}

Ppm share_of(std::int64_t part, std::int64_t whole) {
  if (part <= 0 || whole >= kUnbounded) return 0;
  if (whole <= 0) return kWhole;
  if (part / kWholesMax >= whole) return kWholesMax * kWhole;
  // kWholesMax * kWhole is below 2^30, so that of 33 bits no product passes 63. Both lose the same
  // bits, whatever `part` is: a larger part never has the smaller share.
  constexpr int kBitsMax = 33;
  const auto width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(whole)));
  const int dropped = std::max(0, width - kBitsMax);
  return (part >> dropped) * kWhole / (whole >> dropped);
}

Ppm dominant_share(const Resources& part, const Resources& whole) {
  return std::max({share_of(part.cpu, whole.cpu), share_of(part.memory, whole.memory),
                   share_of(part.slots, whole.slots)});
}

std::int64_t times(const Resources& room, const Resources& each) {
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto bound = [&most](std::int64_t there, std::int64_t one) {
    if (one > 0) most = std::min(most, std::max<std::int64_t>(0, there) / one);
  };
  bound(room.cpu, each.cpu);
  bound(room.memory, each.memory);
  bound(room.slots, each.slots);
  return most;
}

}  // namespace sluice::placement
