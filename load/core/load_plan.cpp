#include "load/core/load_plan.h"

#include "common/base/check.h"
#include "common/base/clean_text.h"

#include "load/core/quantity.h"
#include <utility>

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

// The end of a path says more than its beginning.
std::string describe_replay(const Replay& replay) {
  constexpr std::size_t kShownMax = 60;
  const std::string& file = replay.trace.file;
  const std::size_t cut = file.size() > kShownMax ? file.size() - kShownMax : 0;
  std::string text = "replay of " + std::string{cut > 0 ? "…" : ""} + clean_text(file.substr(cut)) +
                     " (" + grouped(replay.requests) + " requests in " + spoken(replay.length) +
                     ")";
  if (replay.speed != 1) text += ", speed " + plain(replay.speed);
  if (replay.times != 1) text += ", times " + std::to_string(replay.times);
  return text;
}

std::string describe_rates(const LoadPlan& plan) {
  if (plan.replay) return describe_replay(*plan.replay);
  if (plan.shape.empty()) return plain(plan.segments.front().per_second) + "/s";
  constexpr std::size_t kShownMax = 120;
  if (plan.shape.size() <= kShownMax) return plan.shape;
  return plan.shape.substr(0, kShownMax) + "…";
}

std::string extent(const LoadPlan& plan) {
  std::string text;
  if (plan.count) text += ", " + grouped(*plan.count) + " requests";
  if (plan.duration && plan.shape.empty() && !plan.replay) {
    text += (plan.count ? " within " : " for ") + spoken(*plan.duration);
  }
  return text;
}

// What is not as usual about connections.
std::string describe_reuse(const LoadPlan& plan) {
  if (!plan.reuse) return {};
  if (*plan.reuse == 1) return ", a connection for each request";
  return ", " + grouped(*plan.reuse) + " requests per connection";
}

}  // namespace

std::string_view method_of(const LoadPlan& plan, SentAs as) {
  switch (as) {
    case SentAs::planned:
      return plan.method;
    case SentAs::get:
      return "GET";
    case SentAs::head:
      return "HEAD";
    case SentAs::options:
      return "OPTIONS";
  }
  return {};
}

double mean_rate(const LoadPlan& plan) {
  if (plan.replay) {
    const double length = to_seconds(plan.replay->length);
    return length > 0 ? static_cast<double>(plan.replay->requests) / length : 0;
  }
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
    return text + extent(plan) + describe_reuse(plan);
  }
  text = "open loop, " + describe_rates(plan) + extent(plan) + describe_reuse(plan);
  const std::string seed = ", seed " + std::to_string(plan.seed);
  if (plan.replay) return text + seed;
  return text + (plan.arrivals == Arrivals::uniform ? ", uniform" : ", poisson" + seed);
}

Pacer::Pacer(const LoadPlan& plan, CellReader cells)
    : schedule_{with_warmup(plan), plan.arrivals, plan.seed}, left_{plan.count} {
  CHECK(plan.replay.has_value() == (cells != nullptr));
  if (plan.replay) replay_.emplace(*plan.replay, plan.seed, std::move(cells));
}

std::optional<Duration> Pacer::next() const {
  if (left_ && *left_ == 0) return std::nullopt;
  if (!replay_) return schedule_.next();
  return replay_->next() ? std::optional{replay_->next()->at} : std::nullopt;
}

PlannedRequest Pacer::take() {
  const std::optional<Duration> at = next();
  CHECK(at.has_value());
  PlannedRequest planned{*at};
  if (replay_) {
    planned.as = replay_->next()->as;
    replay_->take();
  } else {
    schedule_.take();
  }
  if (left_) --*left_;
  return planned;
}

std::uint64_t Pacer::skip_until(Duration until) {
  std::uint64_t skipped = 0;
  // A day at the highest rate would take minutes to walk through; beyond this they are not counted.
  constexpr std::uint64_t kSkippedMax = 20'000'000;
  for (; due(until) && skipped < kSkippedMax; ++skipped) take();
  return skipped;
}

}  // namespace sluice::loadgen
