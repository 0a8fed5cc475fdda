#include "autoscaler/core/window_average.h"

#include "common/base/check.h"

#include <algorithm>
#include <cmath>

namespace sluice::autoscaler {
namespace {

/// Weights fall so fast that what is older than the window has 0.0001 of the whole at most, but a
/// bucket never keeps less than this share.
constexpr double kLeastSmoothing = 0.2;
constexpr double kForgotten = 0.0001;

std::size_t bucket_count(Duration window, Duration granularity) {
  CHECK(window > Duration{0});
  CHECK(granularity > Duration{0});
  return static_cast<std::size_t>((window + granularity - Duration{1}) / granularity);
}

double smoothing_for(std::size_t buckets) {
  return std::max(1 - std::pow(kForgotten, 1 / static_cast<double>(buckets)), kLeastSmoothing);
}

// Six decimals, halves away from zero: residues of adding and subtracting do not ask for a pod.
double rounded(double value) {
  constexpr double kDecimals = 1e6;
  return std::round(value * kDecimals) / kDecimals;
}

}  // namespace

WindowAverage::WindowAverage(Duration window, Aggregation aggregation, Duration granularity)
    : window_(window),
      granularity_(granularity),
      aggregation_(aggregation),
      buckets_(bucket_count(window, granularity), 0.0),
      smoothing_(smoothing_for(buckets_.size())) {}

std::int64_t WindowAverage::bucket_of(TimePoint at) const {
  const std::int64_t since = at.time_since_epoch().count();
  const std::int64_t size = granularity_.count();
  return since >= 0 ? since / size : -((-since + size - 1) / size);
}

std::size_t WindowAverage::slot_of(std::int64_t bucket) const {
  const auto size = static_cast<std::int64_t>(buckets_.size());
  return static_cast<std::size_t>(((bucket % size) + size) % size);
}

void WindowAverage::record(TimePoint at, double value) {
  const std::int64_t bucket = bucket_of(at);
  if (last_ != bucket) {
    if (last_ && span(bucket) + window_ <= span(*last_)) return;
    if (!first_ || *first_ > bucket) first_ = bucket;
    if (!last_ || bucket > *last_) advance_to(bucket);
  }
  buckets_[slot_of(bucket)] += value;
  total_ += value;
}

void WindowAverage::advance_to(std::int64_t bucket) {
  if (!last_ || span(bucket - *last_) >= window_) {
    first_ = bucket;
    std::fill(buckets_.begin(), buckets_.end(), 0.0);
    total_ = 0;
  } else {
    for (std::int64_t skipped = *last_ + 1; skipped <= bucket; ++skipped) {
      double& slot = buckets_[slot_of(skipped)];
      total_ -= slot;
      slot = 0;
    }
  }
  last_ = bucket;
}

bool WindowAverage::empty(TimePoint now) const {
  return !last_ || span(bucket_of(now) - *last_) > window_;
}

double WindowAverage::average(TimePoint now) const {
  if (!last_) return 0;
  return aggregation_ == Aggregation::linear ? linear(bucket_of(now)) : weighted(bucket_of(now));
}

// Buckets from the first value to the last, at most `limit`. Without a first value (after a resize
// of an empty window) the data counts as older than any window.
double WindowAverage::covered_buckets(std::int64_t limit) const {
  if (!first_) return static_cast<double>(limit);
  return static_cast<double>(std::min(*last_ - *first_ + 1, limit));
}

double WindowAverage::linear(std::int64_t now) const {
  const auto size = static_cast<std::int64_t>(buckets_.size());
  const std::int64_t behind = now - *last_;
  if (behind <= 0) return rounded(total_ / covered_buckets(size));
  if (span(behind) >= window_) return 0;

  // What fell out of the window since the last value is taken off, and the divisor shrinks with it:
  // seconds without data at the end are unknown, not zero.
  double kept = total_;
  for (std::int64_t gone = *last_ + 1; gone <= now; ++gone) kept -= buckets_[slot_of(gone)];
  return rounded(kept / covered_buckets(size - behind));
}

double WindowAverage::weighted(std::int64_t now) const {
  if (span(now - *last_) > window_) return 0;

  auto counted = static_cast<std::int64_t>(buckets_.size());
  double weight = smoothing_;
  if (now > *last_) {
    const std::int64_t behind = now - *last_;
    counted -= behind;
    weight *= std::pow(1 - smoothing_, static_cast<double>(behind));
  }
  double sum = 0;
  for (std::int64_t age = 0; age < counted; ++age) {
    sum += buckets_[slot_of(*last_ - age)] * weight;
    weight *= 1 - smoothing_;
  }
  return sum;
}

void WindowAverage::resize(Duration window, TimePoint now) {
  if (window == window_) return;

  std::vector<double> old(bucket_count(window, granularity_), 0.0);
  old.swap(buckets_);
  const bool has_data = !empty(now);
  total_ = 0;
  if (has_data) {
    const auto old_size = static_cast<std::int64_t>(old.size());
    const auto kept = static_cast<std::int64_t>(std::min(old.size(), buckets_.size()));
    for (std::int64_t bucket = *last_; bucket > *last_ - kept; --bucket) {
      const auto from = static_cast<std::size_t>(((bucket % old_size) + old_size) % old_size);
      buckets_[slot_of(bucket)] = old[from];
      total_ += old[from];
    }
    // The reference counts a half-filled window as full from here on.
    first_ = *last_ - (old_size - 1);
  } else {
    first_.reset();
  }
  window_ = window;
  smoothing_ = smoothing_for(buckets_.size());
}

}  // namespace sluice::autoscaler
