#include "load/core/arrivals.h"

#include "load/core/quantity.h"
#include <cmath>
#include <string>
#include <utility>

namespace sluice::loadgen {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Problem bad_shape(std::string what) {
  return Problem{std::move(what), "write RATE:DURATION steps, like --shape 'step 20:10s, 400:20s'"};
}

Result<Segment, Problem> parse_step(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<double> rate = parse_number(trimmed(text.substr(0, colon)));
  if (colon == std::string_view::npos || !rate) {
    return bad_shape("a step of --shape is not RATE:DURATION: '" + std::string{text.substr(0, 40)} +
                     "'");
  }
  if (*rate > kRateMax) return bad_shape("a step of --shape is above 1000000/s");
  auto length = parse_duration(trimmed(text.substr(colon + 1)), "the length of a --shape step");
  if (!length) return length.error();
  if (*length <= Duration::zero()) return bad_shape("a step of --shape has no length");
  return Segment{*rate, *length};
}

}  // namespace

Result<std::vector<Segment>, Problem> parse_shape(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (!rest.starts_with("step ")) {
    return bad_shape("--shape does not begin with 'step': '" + std::string{text.substr(0, 40)} +
                     "'");
  }
  rest.remove_prefix(5);
  std::vector<Segment> segments;
  while (true) {
    if (segments.size() == kSegmentsMax) return bad_shape("--shape has more than 1000 steps");
    const std::size_t comma = rest.find(',');
    auto step = parse_step(trimmed(rest.substr(0, comma)));
    if (!step) return step.error();
    segments.push_back(*step);
    if (comma == std::string_view::npos) return segments;
    rest.remove_prefix(comma + 1);
  }
}

ArrivalSchedule::ArrivalSchedule(std::vector<Segment> segments, Arrivals arrivals,
                                 std::uint64_t seed)
    : segments_{std::move(segments)}, arrivals_{arrivals}, random_{seed} {
  // An even rhythm starts with the start; independent users do not.
  if (arrivals_ == Arrivals::poisson) position_ = gap();
  plan();
}

void ArrivalSchedule::take() {
  position_ += gap();
  plan();
}

double ArrivalSchedule::gap() {
  if (arrivals_ == Arrivals::uniform) return 1;
  // Not std::exponential_distribution, whose sequence each library is free to choose.
  const double unit = static_cast<double>(random_() >> 11) * 0x1p-53;
  return -std::log1p(-unit);
}

void ArrivalSchedule::plan() {
  next_.reset();
  for (; segment_ < segments_.size(); ++segment_) {
    const Segment& now = segments_[segment_];
    const double length = to_seconds(now.length);
    const double into = position_ - segment_position_;
    if (into < now.per_second * length) {
      next_ = from_seconds(segment_start_ + into / now.per_second);
      return;
    }
    segment_start_ += length;
    segment_position_ += now.per_second * length;
  }
}

}  // namespace sluice::loadgen
