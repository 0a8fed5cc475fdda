#include "autoscaler/placement/core/move.h"

#include <algorithm>
#include <utility>

namespace sluice::placement {
namespace {

std::string replicas_of(std::int32_t count) {
  return std::to_string(count) + (count == 1 ? " replica" : " replicas");
}

}  // namespace

Move::Move(MoveSpec spec, TimePoint now)
    : spec_{std::move(spec)},
      from_{true, spec_.drain},
      to_{false, spec_.drain},
      watch_{spec_.shift_hold} {
  record_ = {.id = spec_.id,
             .service = spec_.service,
             .from = spec_.from,
             .to = spec_.to,
             .cause = spec_.cause,
             .began = now};
}

Duration Move::start_limit() const {
  return std::max(kStartLeast, kUsualStarts * spec_.usual_start);
}

const MoveOrders& Move::step(const MoveView& view, TimePoint now) {
  orders_.freed = 0;
  orders_.news = false;
  if (over()) return orders_;
  const Duration at = elapsed_.at(now);
  const MoveRecord before = record_;
  look(view, at);
  heed(view, at, now);
  const std::int32_t goal = numbers(view).goal_to;
  // More than ever have to start: that takes as long again.
  if (goal > goal_to_) {
    goal_to_ = goal;
    anchor_ = at;
  }
  if (view.from.there || phase_ == MoveState::aborting) {
    while (!over() && advance(view, at, now)) {
    }
  }
  order(view, at, now);
  orders_.news = record_ != before;
  return orders_;
}

void Move::look(const MoveView& view, Duration at) {
  from_.look(view.from, at);
  to_.look(view.to, at);
  fresh_ = false;
  if (!begun_ && view.from.there) {
    begun_ = true;
    had_from_ = from_.live();
    had_to_ = to_.live();
    cut_before_ = view.from.tally.cut + view.to.tally.cut;
    record_.replicas = std::min(spec_.replicas, had_from_);
    traffic_at_ = at;
  }
  record_.cut = std::max<std::int64_t>(0, view.from.tally.cut + view.to.tally.cut - cut_before_);
  const std::int64_t ended = view.from.tally.requests + view.to.tally.requests;
  const bool traffic = ended != ended_requests_ || from_.in_flight() + to_.in_flight() > 0;
  if (traffic) traffic_at_ = at;
  ended_requests_ = ended;
  const std::int32_t freed = from_.take_gone();
  static_cast<void>(to_.take_gone());
  orders_.freed += freed;
  record_.drained += freed;
}

// What ends a move from outside, at every state.
void Move::heed(const MoveView& view, Duration at, TimePoint now) {
  if (view.ending) {
    finish(MoveState::aborted, MoveEnd::withdrawn, "the engine stops", now);
    return;
  }
  heed_service(view, at, now);
  if (over() || deleted_) return;
  if (!view.to.there && phase_ != MoveState::aborting) {
    give_up(MoveEnd::withdrawn, spec_.to + " is lost", at, now);
  }
  heed_loss(view, at);
}

// While `from` is lost the new place is all there is: what is ready there takes requests, nothing
// is given up, and no step is due before `from` is back.
void Move::heed_loss(const MoveView& view, Duration at) {
  if (view.from.there) {
    if (lost_since_ && state() == MoveState::stuck) {
      record_.state = phase_;
      record_.why.clear();
    }
    lost_since_.reset();
    return;
  }
  if (!lost_since_) lost_since_ = at;
  if (phase_ == MoveState::aborting && view.to.there && !deleted_) {
    held_ = 0;
    all_ = false;
    resume(MoveState::warming, at);
  }
  anchor_ = at;
  short_since_.reset();
  if (at - *lost_since_ > kGoneLimit && state() != MoveState::stuck) {
    get_stuck(spec_.from + " is lost");
  }
}

void Move::heed_service(const MoveView& view, Duration at, TimePoint now) {
  if (view.deleted && !deleted_) {
    deleted_ = true;
    if (phase_ == MoveState::aborting) {
      anchor_ = at;
    } else {
      give_up(MoveEnd::withdrawn, spec_.service + " was deleted", at, now);
    }
  }
  if (deleted_ || over()) return;
  if (!before(MoveState::shifting)) return;
  if (view.changed) {
    give_up(MoveEnd::withdrawn, spec_.service + " was changed", at, now);
  } else if (unwanted_) {
    give_up(MoveEnd::withdrawn, "the room is not needed any more", at, now);
  } else if (!view.start_failure.empty() && phase_ >= MoveState::starting && to_.ready() == 0) {
    give_up(MoveEnd::start_failed, view.start_failure, at, now);
  }
}

// One transition, if it is due.
bool Move::advance(const MoveView& view, Duration at, TimePoint now) {
  switch (phase_) {
    case MoveState::planned:
      return begin(view, at, now);
    case MoveState::reserved:
      return hold_room(view, at, now);
    case MoveState::starting:
      return start(view, at, now);
    case MoveState::warming:
      return warm(view, at, now);
    case MoveState::shifting:
      return shift(view, at, now);
    case MoveState::draining:
      return drain(view, at, now);
    case MoveState::removing:
      return remove(view, at, now);
    case MoveState::aborting:
      return clean_up(view, at, now);
    case MoveState::done:
    case MoveState::aborted:
    case MoveState::stuck:
      return false;
  }
  return false;
}

bool Move::begin(const MoveView& view, Duration at, TimePoint now) {
  if (view.outdated) {
    finish(MoveState::aborted, MoveEnd::withdrawn, "the places have changed", now);
    return false;
  }
  if (view.frozen) return false;
  if (from_.live() == 0) {
    record_.asleep = view.wanted <= 0 && to_.live() == 0;
    finish(MoveState::done, MoveEnd::done, {}, now);
    return false;
  }
  enter(MoveState::reserved, at);
  return true;
}

// The ledger has one cycle for it: who waited for room would keep that of others.
bool Move::hold_room(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (nothing_to_shift(due, at)) return true;
  const std::int32_t missing = due.goal_to - to_.live();
  if (view.reserved >= missing) {
    started_ = at;
    enter(MoveState::starting, at);
    return true;
  }
  if (fresh_) return false;
  if (!view.no_starts.empty()) {
    finish(MoveState::aborted, MoveEnd::withdrawn, view.no_starts, now);
    return false;
  }
  finish(MoveState::aborted, MoveEnd::no_room,
         spec_.to + " has no room for " + replicas_of(missing), now);
  return false;
}

bool Move::nothing_to_shift(const Numbers& numbers, Duration at) {
  if (numbers.wanted > 0 && numbers.moving() > 0) return false;
  drained_ = at;
  enter(MoveState::draining, at);
  return true;
}

bool Move::start_is_late(Duration at, TimePoint now, const std::string& what) {
  if (to_.failed() > 0) {
    give_up(MoveEnd::start_failed, "a replica at " + spec_.to + " failed to start", at, now);
    return true;
  }
  const Duration limit = phase_ == MoveState::starting ? start_limit() : 2 * start_limit();
  if (at - anchor_ <= limit) return false;
  give_up(MoveEnd::start_failed, what, at, now);
  return true;
}

void Move::note_starts(const Numbers& numbers, Duration at) {
  const std::int32_t started = std::max(0, to_.live() - numbers.base);
  if (started > record_.started) {
    record_.started = started;
    record_.start_took.reset();
  }
  if (record_.start_took || started == 0) return;
  if (to_.ready() - numbers.base >= numbers.moving()) record_.start_took = at - started_;
}

bool Move::start(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (nothing_to_shift(due, at)) return true;
  note_starts(due, at);
  if (to_.failed() == 0 && to_.live() >= due.goal_to) {
    enter(MoveState::warming, at);
    return true;
  }
  if (view.pulling) anchor_ = at;
  return start_is_late(at, now, "replicas at " + spec_.to + " did not start in time");
}

bool Move::warm(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (nothing_to_shift(due, at)) return true;
  note_starts(due, at);
  if (to_.settled(kStableReady, at) >= due.goal_to) {
    watch_.begin_shift(view.from.tally, view.to.tally);
    enter(MoveState::shifting, at);
    return true;
  }
  if (view.pulling) anchor_ = at;
  return start_is_late(at, now, "replicas at " + spec_.to + " were not ready in time");
}

bool Move::shift(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (nothing_to_shift(due, at)) return true;
  note_starts(due, at);
  const std::int32_t moving = due.moving();
  held_ = std::min(held_, moving);
  if (watch_.watching()) {
    target_ = std::min(target_, moving);
    return judge_step(view, due, at, now);
  }
  if (held_ == moving && (moving > 1 || all_)) {
    drained_ = at;
    enter(MoveState::draining, at);
    return true;
  }
  const std::int32_t step = (moving + kShiftSteps - 1) / kShiftSteps;
  all_ = held_ == moving;
  target_ = std::min(held_ + step, moving);
  if (to_.ready() < due.base + target_) {
    if (view.pulling) anchor_ = at;
    return start_is_late(at, now, "replicas at " + spec_.to + " are not ready any more");
  }
  watch_.begin_step(view.from.tally, view.to.tally, at);
  return at - traffic_at_ >= spec_.shift_hold;
}

bool Move::judge_step(const MoveView& view, const Numbers& numbers, Duration at, TimePoint now) {
  const bool open = target_ > 0 && to_.ready() >= numbers.base + target_;
  const bool quiet = at - traffic_at_ >= spec_.shift_hold;
  switch (watch_.look(view.from.tally, view.to.tally, open, quiet, at)) {
    case StepWatch::Verdict::open:
      return false;
    case StepWatch::Verdict::passed:
      if (!all_) record_.listed.push_back(target_);
      held_ = target_;
      anchor_ = at;
      return true;
    case StepWatch::Verdict::failed:
      failing_ = true;
      give_up(MoveEnd::shift_failed, watch_.words(spec_.from, spec_.to), at, now);
      return true;
    case StepWatch::Verdict::overdue:
      give_up(MoveEnd::shift_failed,
              open ? "no request came to " + spec_.to
                   : "replicas at " + spec_.to + " are not ready any more",
              at, now);
      return true;
  }
  return false;
}

// The old replicas serve again as long as those at `to` are too few. With none of them stopped
// there is a way back; later there is none.
bool Move::drain(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (due.wanted - to_.ready() <= due.goal_from) {
    short_since_.reset();
  } else if (!short_since_) {
    short_since_ = at;
  }
  if (short_since_ && at - *short_since_ > 2 * start_limit() && state() != MoveState::stuck) {
    const std::string why = "replicas at " + spec_.to + " are not ready any more";
    if (record_.drained > 0 || from_.stopping() > 0) {
      get_stuck(why);
      return false;
    }
    give_up(MoveEnd::start_failed, why, at, now);
    return true;
  }
  if (fresh_ || from_.live() > due.goal_from) return false;
  record_.why.clear();
  enter(MoveState::removing, at);
  return true;
}

bool Move::remove(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  if (from_.stopping() == 0 && from_.live() <= due.goal_from) {
    if (record_.drained > 0) record_.drain_took = at - drained_;
    record_.why.clear();
    finish(MoveState::done, MoveEnd::done, {}, now);
    return false;
  }
  if (at - std::max(anchor_, from_.stopped_at()) > kGoneLimit && state() != MoveState::stuck) {
    get_stuck(replicas_of(from_.stopping()) + " at " + spec_.from + " did not end");
  }
  return false;
}

// Where old replicas were stopped and their place has no room for them any more, there is no way
// back: when the destination is there again, the move is finished.
bool Move::clean_up(const MoveView& view, Duration at, TimePoint now) {
  const Numbers due = numbers(view);
  const bool back = record_.drained == 0 || due.most_from >= due.wanted - due.base;
  if (!back && !deleted_ && view.to.there && !fresh_) {
    resume(MoveState::draining, at);
    return true;
  }
  const bool clean = deleted_ ? from_.empty() && to_.empty()
                              : to_.stopping() == 0 && to_.live() <= staying_at_to(due);
  if (clean && view.to.there && !fresh_) {
    finish(MoveState::aborted, record_.end, record_.why, now);
    return false;
  }
  const Duration last = std::max({anchor_, from_.stopped_at(), to_.stopped_at()});
  if (at - last > std::max(kGoneLimit, spec_.drain.drain_max) && state() != MoveState::stuck) {
    get_stuck(record_.why + "; " + replicas_of(to_.live() + to_.stopping() - due.base) + " at " +
              spec_.to + " did not end");
  }
  return false;
}

void Move::enter(MoveState state, Duration at) {
  phase_ = state;
  record_.state = state;
  anchor_ = at;
  fresh_ = true;
  if (state == MoveState::draining) short_since_.reset();
}

void Move::resume(MoveState state, Duration at) {
  record_.why.clear();
  record_.end = MoveEnd::none;
  failing_ = false;
  enter(state, at);
}

void Move::give_up(MoveEnd end, std::string why, Duration at, TimePoint now) {
  if (before(MoveState::starting)) {
    finish(MoveState::aborted, end, std::move(why), now);
    return;
  }
  record_.end = end;
  record_.why = std::move(why);
  enter(MoveState::aborting, at);
}

void Move::finish(MoveState state, MoveEnd end, std::string why, TimePoint now) {
  phase_ = state;
  record_.state = state;
  record_.end = end;
  record_.why = std::move(why);
  record_.ended = now;
}

void Move::get_stuck(std::string why) {
  record_.state = MoveState::stuck;
  record_.why = std::move(why);
}

}  // namespace sluice::placement
