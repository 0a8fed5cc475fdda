#include "load/core/load_plan.h"

#include "common/base/check.h"

#include "load/core/quantity.h"

namespace sluice::loadgen {

namespace {

// The warm-up runs at the rate the run begins with.
std::vector<Segment> with_warmup(const LoadPlan& plan) {
  std::vector<Segment> segments = plan.segments;
  if (plan.warmup > Duration::zero() && !segments.empty()) {
    segments.insert(segments.begin(), Segment{segments.front().per_second, plan.warmup});
  }
  return segments;
}

std::string describe_rates(const LoadPlan& plan) {
  if (plan.shape.empty()) return plain(plan.segments.front().per_second) + "/s";
  constexpr std::size_t kShownMax = 120;
  if (plan.shape.size() <= kShownMax) return plan.shape;
  return plan.shape.substr(0, kShownMax) + "…";
}

std::string extent(const LoadPlan& plan) {
  std::string text;
  if (plan.count) text += ", " + grouped(*plan.count) + " requests";
  if (plan.duration && plan.shape.empty()) {
    text += (plan.count ? " within " : " for ") + spoken(*plan.duration);
  }
  return text;
}

}  // namespace

double mean_rate(const LoadPlan& plan) {
  double requests = 0;
  double seconds = 0;
  for (const Segment& segment : plan.segments) {
    requests += expected_arrivals(segment);
    seconds += to_seconds(segment.length);
  }
  return seconds > 0 ? requests / seconds : 0;
}

std::string describe(const LoadPlan& plan) {
  std::string text;
  if (plan.loop == Loop::closed) {
    const bool one = plan.connections == 1;
    text = "closed loop, " + grouped(plan.connections) + (one ? " connection" : " connections");
    return text + extent(plan);
  }
  text = "open loop, " + describe_rates(plan) + extent(plan);
  if (plan.arrivals == Arrivals::uniform) return text + ", uniform";
  return text + ", poisson, seed " + std::to_string(plan.seed);
}

Pacer::Pacer(const LoadPlan& plan)
    : schedule_{with_warmup(plan), plan.arrivals, plan.seed}, left_{plan.count} {}

std::optional<Duration> Pacer::next() const {
  if (left_ && *left_ == 0) return std::nullopt;
  return schedule_.next();
}

Duration Pacer::take() {
  const std::optional<Duration> planned = next();
  CHECK(planned.has_value());
  schedule_.take();
  if (left_) --*left_;
  return *planned;
}

std::uint64_t Pacer::skip_until(Duration until) {
  std::uint64_t skipped = 0;
  // A day at the highest rate would take minutes to walk through; beyond this they are not counted.
  constexpr std::uint64_t kSkippedMax = 20'000'000;
  for (; due(until) && skipped < kSkippedMax; ++skipped) take();
  return skipped;
}

}  // namespace sluice::loadgen
