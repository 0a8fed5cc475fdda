#include "autoscaler/core/decision/window_average.h"

#include "common/base/check.h"

#include <algorithm>
#include <cmath>

namespace sluice::autoscaler {
namespace {

/// Weights fall so fast that what is older than the window has 0.0001 of the whole at most, but a
/// bucket never keeps less than this share.
constexpr double kLeastSmoothing = 0.2;
constexpr double kForgotten = 0.0001;

WindowAverage::Bucket buckets_in(Duration window, Duration granularity) {
  CHECK(window > Duration{0});
  CHECK(granularity > Duration{0});
  return (window + granularity - Duration{1}) / granularity;
}

double smoothing_for(WindowAverage::Bucket buckets) {
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
      size_(buckets_in(window, granularity)),
      smoothing_(smoothing_for(size_)) {}

WindowAverage::Bucket WindowAverage::bucket_of(TimePoint at) const {
  using std::chrono::seconds;
  // Nearly always; dividing by a constant is several times as fast.
  if (granularity_ == seconds{1}) {
    return std::chrono::floor<seconds>(at).time_since_epoch().count();
  }
  const std::int64_t since = at.time_since_epoch().count();
  const std::int64_t size = granularity_.count();
  return since >= 0 ? since / size : -((-since + size - 1) / size);
}

std::size_t WindowAverage::slot_at(Bucket distance) const {
  const Bucket slot = static_cast<Bucket>(last_slot_) + distance;
  return static_cast<std::size_t>(slot < 0 ? slot + size_ : slot >= size_ ? slot - size_ : slot);
}

void WindowAverage::record(Bucket bucket, double value) {
  if (last_ != bucket) {
    if (last_ && span(bucket) + window_ <= span(*last_)) return;
    if (!first_ || *first_ > bucket) first_ = bucket;
    if (!last_ || bucket > *last_) advance_to(bucket);
  }
  if (ring_.empty()) ring_.assign(static_cast<std::size_t>(size_), 0.0);
  ring_[slot_at(bucket - *last_)] += value;
  total_ += value;
}

void WindowAverage::advance_to(Bucket bucket) {
  if (!last_ || span(bucket - *last_) >= window_) {
    first_ = bucket;
    std::fill(ring_.begin(), ring_.end(), 0.0);
    total_ = 0;
  } else if (!ring_.empty()) {
    for (Bucket skipped = *last_; skipped < bucket; ++skipped) {
      if (++last_slot_ == ring_.size()) last_slot_ = 0;
      total_ -= ring_[last_slot_];
      ring_[last_slot_] = 0;
    }
  }
  last_ = bucket;
}

bool WindowAverage::empty(TimePoint now) const {
  return !last_ || span(bucket_of(now) - *last_) > window_;
}

double WindowAverage::average(TimePoint now) const {
  if (ring_.empty()) return 0;
  return aggregation_ == Aggregation::linear ? linear(bucket_of(now)) : weighted(bucket_of(now));
}

// Buckets from the first value to the last, at most `limit`. Without a first value (after a resize
// of an empty window) the data counts as older than any window.
double WindowAverage::covered_buckets(Bucket limit) const {
  if (!first_) return static_cast<double>(limit);
  return static_cast<double>(std::min(*last_ - *first_ + 1, limit));
}

double WindowAverage::linear(Bucket now) const {
  const Bucket behind = now - *last_;
  if (behind <= 0) return rounded(total_ / covered_buckets(size_));
  if (span(behind) >= window_) return 0;

  // What fell out of the window since the last value is taken off, and the divisor shrinks with it:
  // seconds without data at the end are unknown, not zero.
  double kept = total_;
  for (Bucket gone = 1; gone <= behind; ++gone) kept -= ring_[slot_at(gone)];
  return rounded(kept / covered_buckets(size_ - behind));
}

double WindowAverage::weighted(Bucket now) const {
  const Bucket behind = std::max<Bucket>(now - *last_, 0);
  if (span(behind) > window_) return 0;

  double weight = smoothing_;
  if (behind > 0) weight *= std::pow(1 - smoothing_, static_cast<double>(behind));
  // Newest first: down to the front of the ring, then on from its back.
  double sum = 0;
  std::size_t slot = last_slot_;
  for (Bucket left = size_ - behind; left > 0; --left) {
    sum += ring_[slot] * weight;
    weight *= 1 - smoothing_;
    slot = slot == 0 ? ring_.size() - 1 : slot - 1;
  }
  return sum;
}

void WindowAverage::resize(Duration window, TimePoint now) {
  if (window == window_) return;

  const bool has_data = !empty(now);
  const Bucket size = buckets_in(window, granularity_);
  if (has_data && !ring_.empty()) {
    std::vector<double> ring(static_cast<std::size_t>(size), 0.0);
    total_ = 0;
    const auto newest = static_cast<std::size_t>(size) - 1;
    for (Bucket age = 0; age < std::min(size_, size); ++age) {
      const double value = ring_[slot_at(-age)];
      ring[newest - static_cast<std::size_t>(age)] = value;
      total_ += value;
    }
    ring_.swap(ring);
    last_slot_ = newest;
  } else {
    forget();
  }
  // The reference counts a half-filled window as full from here on.
  if (has_data) first_ = *last_ - (size_ - 1);
  window_ = window;
  size_ = size;
  smoothing_ = smoothing_for(size_);
}

void WindowAverage::release_if_empty(TimePoint now) {
  if (!ring_.empty() && empty(now)) forget();
}

SavedWindow WindowAverage::saved() const {
  SavedWindow saved{window_, first_, last_, total_};
  if (ring_.empty()) return saved;
  Bucket age = size_ - 1;
  while (age > 0 && ring_[slot_at(-age)] == 0) --age;
  saved.values.reserve(static_cast<std::size_t>(age) + 1);
  for (; age >= 0; --age) saved.values.push_back(ring_[slot_at(-age)]);
  return saved;
}

void WindowAverage::restore(const SavedWindow& saved, TimePoint now) {
  const WindowAverage own = *this;
  window_ = saved.window;
  size_ = buckets_in(window_, granularity_);
  smoothing_ = smoothing_for(size_);
  first_ = saved.first;
  last_ = saved.last;
  total_ = saved.total;
  last_slot_ = 0;
  ring_ = {};
  if (!saved.values.empty()) {
    CHECK(static_cast<Bucket>(saved.values.size()) <= size_);
    ring_.assign(static_cast<std::size_t>(size_), 0.0);
    std::copy_backward(saved.values.begin(), saved.values.end(), ring_.end());
    last_slot_ = ring_.size() - 1;
  }
  resize(own.window_, now);

  if (own.ring_.empty()) return;
  Bucket bucket = *own.last_ - (own.size_ - 1);
  if (own.first_) bucket = std::max(bucket, *own.first_);
  if (last_) bucket = std::max(bucket, *last_ + 1);
  for (; bucket <= *own.last_; ++bucket)
    record(bucket, own.ring_[own.slot_at(bucket - *own.last_)]);
}

void WindowAverage::forget() {
  ring_ = {};
  last_slot_ = 0;
  total_ = 0;
  first_.reset();
}

}  // namespace sluice::autoscaler
