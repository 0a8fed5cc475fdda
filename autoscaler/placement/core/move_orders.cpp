#include "autoscaler/placement/core/move.h"

#include <algorithm>

// What a move orders in each of its states.
namespace sluice::placement {
namespace {

// More replicas than any service has; sums of two such numbers fit.
constexpr std::int32_t kReplicasMax = 1'000'000;

std::int32_t bounded(std::int32_t replicas) {
  return std::clamp(replicas, 0, kReplicasMax);
}

// part of `whole` in `total`, rounded down.
std::int32_t part_of(std::int32_t total, std::int32_t part, std::int32_t whole) {
  return static_cast<std::int32_t>(std::int64_t{total} * part / whole);
}

}  // namespace

Move::Numbers Move::numbers(const MoveView& view) const {
  Numbers numbers;
  numbers.wanted = bounded(view.wanted);
  numbers.base = std::min(had_to_, numbers.wanted);
  // What exists is not taken back because the place has become smaller.
  numbers.most_from = std::max(bounded(view.from.most), from_.live());
  if (record_.replicas < had_from_) {
    const std::int32_t staying = had_from_ - record_.replicas;
    numbers.goal_from =
        std::min(part_of(numbers.wanted, staying, had_from_ + had_to_), numbers.most_from);
  }
  numbers.goal_to = std::max(numbers.base, numbers.wanted - numbers.goal_from);
  // Where the destination has no room for what the load needs by now, the rest stays where it is.
  if (!before(MoveState::starting)) {
    numbers.goal_to = std::min(numbers.goal_to, std::max(bounded(view.to.most), numbers.base));
  }
  numbers.goal_from = std::min(numbers.wanted - numbers.goal_to, numbers.most_from);
  return numbers;
}

// Until the shift has begun the old replicas are all that serves, and they follow what is wanted as
// far as their place has room. In the shift each side follows by what it has of it. Then the old
// ones stay only while the new ones are too few.
Move::Shares Move::shares_from(const Numbers& numbers) const {
  const std::int32_t all = numbers.wanted - numbers.base;
  const std::int32_t live = from_.live();
  // Of those that exist, as many stay as are missing elsewhere right now.
  const std::int32_t kept = std::min(live, numbers.wanted - std::min(numbers.base, to_.serving()));
  switch (phase_) {
    case MoveState::planned:
    case MoveState::reserved:
    case MoveState::starting:
    case MoveState::warming:
    case MoveState::aborting:
    case MoveState::aborted:
    case MoveState::stuck:
      if (deleted_) return {};
      return {.live = std::max(std::min(all, numbers.most_from), kept), .chosen = kReplicasMax};
    case MoveState::shifting: {
      const std::int32_t moving = numbers.moving();
      const std::int32_t held = std::min(held_, moving);
      const std::int32_t unheld =
          all - numbers.goal_from - part_of(all - numbers.goal_from, held, moving);
      const std::int32_t new_ones = std::min(numbers.base + held, to_.serving());
      return {.live = std::max(std::min(numbers.goal_from + unheld, numbers.most_from), kept),
              .chosen = std::max(numbers.goal_from, numbers.wanted - new_ones)};
    }
    case MoveState::draining:
    case MoveState::removing:
    case MoveState::done:
      break;
  }
  const std::int32_t needed = std::max(numbers.goal_from, numbers.wanted - to_.ready());
  return {.live = std::max(numbers.goal_from, std::min(live, needed)), .chosen = needed};
}

// New replicas take requests when it is their step, or when without them fewer would be ready than
// are wanted.
Move::Shares Move::shares_to(const Numbers& numbers) const {
  std::int32_t needed = numbers.wanted;
  if (failing_) needed = std::min(needed, numbers.base + numbers.most_from);
  const std::int32_t missing = std::min(to_.ready(), needed - from_.ready());
  const std::int32_t live = std::max(numbers.goal_to, missing);
  switch (phase_) {
    case MoveState::planned:
    case MoveState::reserved:
      return {.live = numbers.base, .chosen = kReplicasMax};
    case MoveState::starting:
    case MoveState::warming:
      return {.live = live, .chosen = std::max(numbers.base, missing)};
    case MoveState::shifting: {
      const std::int32_t listed = watch_.watching() ? target_ : held_;
      const std::int32_t old_ones = numbers.wanted - from_.serving();
      return {.live = live,
              .chosen = std::max(numbers.base + listed, std::min(to_.ready(), old_ones))};
    }
    case MoveState::draining:
    case MoveState::removing:
    case MoveState::done:
      return {.live = live, .chosen = kReplicasMax};
    case MoveState::aborting:
    case MoveState::aborted:
    case MoveState::stuck:
      break;
  }
  if (deleted_) return {};
  const std::int32_t staying = staying_at_to(numbers);
  const std::int32_t kept = std::max(staying, missing);
  return {.live = kept, .chosen = failing_ ? numbers.base : kept};
}

// What the load needs by now and the old place has no room for stays, unless requests fail there.
std::int32_t Move::staying_at_to(const Numbers& numbers) const {
  if (failing_) return numbers.base;
  return std::max(numbers.base, std::min(to_.live(), numbers.wanted - numbers.most_from));
}

void Move::order(const MoveView& view, Duration at, TimePoint now) {
  orders_.avoid.clear();
  orders_.stop.clear();
  orders_.overdue.clear();
  orders_.held_for = unwanted_ ? std::nullopt : spec_.held_for;
  orders_.held_until = now + kHeldFor;
  const Numbers due = numbers(view);
  const Shares to = shares_to(due);
  to_.assign(to.live, to.chosen);
  const Shares from = shares_from(due);
  from_.assign(from.live, from.chosen);
  orders_.from = from.live;
  orders_.to = to.live;
  orders_.reserve = 0;
  if (over()) return;
  from_.drain(!view.frozen, at);
  to_.drain(!view.frozen, at);
  from_.append_orders(orders_);
  to_.append_orders(orders_);
  if (phase_ != MoveState::planned && phase_ != MoveState::aborting) {
    orders_.reserve = std::max(0, due.goal_to - to_.live());
  }
}

}  // namespace sluice::placement
