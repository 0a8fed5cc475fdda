#include "load/core/arrivals.h"

#include "load/core/portable_math.h"
#include <algorithm>
#include <utility>

namespace sluice::loadgen {

ArrivalSchedule::ArrivalSchedule(std::vector<Segment> segments, Arrivals arrivals,
                                 std::uint64_t seed)
    : segments_{std::move(segments)}, arrivals_{arrivals}, random_{seed} {
  enter(0);
  // An even rhythm starts with the start; independent users do not.
  if (arrivals_ == Arrivals::poisson) position_ = gap();
  plan();
}

void ArrivalSchedule::take() {
  position_ += gap();
  plan();
}

double ArrivalSchedule::gap() {
  return arrivals_ == Arrivals::uniform ? 1 : exponential_of(random_());
}

void ArrivalSchedule::enter(std::size_t segment) {
  segment_ = segment;
  segment_arrivals_ = segment < segments_.size() ? expected_arrivals(segments_[segment]) : 0;
}

void ArrivalSchedule::plan() {
  next_.reset();
  while (segment_ < segments_.size()) {
    const Segment& now = segments_[segment_];
    const double into = position_ - segment_position_;
    if (into < segment_arrivals_) {
      const Duration offset = from_seconds(seconds_until(now, into));
      // What rounding may do, it does here: neither back in time nor past the segment.
      last_ = std::max(last_, segment_start_ + std::min(offset, now.length));
      next_ = last_;
      return;
    }
    segment_start_ += now.length;
    segment_position_ += segment_arrivals_;
    enter(segment_ + 1);
  }
}

}  // namespace sluice::loadgen
