#include "autoscaler/core/decision/collector.h"

#include "common/base/check.h"

#include <algorithm>
#include <cmath>

namespace sluice::autoscaler {
namespace {

// Enough pods that the mean of a sample lies within the margin of the mean of all, at 95 %
// confidence, with a finite population correction: 1.96^2 * 100 / 25.
constexpr double kSampleLimit = 1.96 * 1.96 * 100 / 25;
constexpr double kAlwaysAll = 3;

constexpr Duration kSilence = std::chrono::seconds{10};

}  // namespace

std::int32_t sample_size(std::int32_t population) {
  return static_cast<std::int32_t>(sample_size(static_cast<double>(population)));
}

double sample_size(double population) {
  if (population <= 0) return 0;
  if (population <= kAlwaysAll) return population;
  return std::ceil(population * kSampleLimit / (population + kSampleLimit - 1));
}

Stat scrape_average(std::span<const Stat> answers, std::int32_t ready) {
  CHECK(!answers.empty());
  Stat sum;
  for (const Stat& stat : answers) {
    sum.average_concurrency += stat.average_concurrency;
    sum.average_proxied_concurrency += stat.average_proxied_concurrency;
    sum.request_count += stat.request_count;
    sum.proxied_request_count += stat.proxied_request_count;
  }
  const auto sample = static_cast<double>(answers.size());
  const double all = ready;
  return {.average_concurrency = sum.average_concurrency / sample * all,
          .average_proxied_concurrency = sum.average_proxied_concurrency / sample * all,
          .request_count = sum.request_count / sample * all,
          .proxied_request_count = sum.proxied_request_count / sample * all};
}

Collector::Collector(const DeciderSpec& spec)
    : concurrency_{WindowAverage{spec.stable_window, spec.aggregation},
                   WindowAverage{spec.panic_window, spec.aggregation}},
      rps_{WindowAverage{spec.stable_window, spec.aggregation},
           WindowAverage{spec.panic_window, spec.aggregation}} {}

void Collector::record(const Stat& stat, TimePoint at) {
  const double concurrency = stat.average_concurrency - stat.average_proxied_concurrency;
  const double rps = stat.request_count - stat.proxied_request_count;
  const WindowAverage::Bucket bucket = concurrency_.stable.bucket_of(at);
  concurrency_.stable.record(bucket, concurrency);
  concurrency_.panic.record(bucket, concurrency);
  rps_.stable.record(bucket, rps);
  rps_.panic.record(bucket, rps);
  newest_ = newest_ ? std::max(*newest_, at) : at;
}

void Collector::release_if_empty(TimePoint now) {
  for (Pair* pair : {&concurrency_, &rps_}) {
    pair->stable.release_if_empty(now);
    pair->panic.release_if_empty(now);
  }
}

void Collector::update(const DeciderSpec& spec, TimePoint now) {
  for (Pair* pair : {&concurrency_, &rps_}) {
    pair->stable.resize(spec.stable_window, now);
    pair->panic.resize(spec.panic_window, now);
  }
}

Collector::Averages Collector::averages(ScalingMetric metric, TimePoint now) const {
  const Pair& pair = metric == ScalingMetric::rps ? rps_ : concurrency_;
  if (pair.stable.empty(now)) return {.stable = 0, .panic = 0, .empty = true};
  return {.stable = pair.stable.average(now), .panic = pair.panic.average(now), .empty = false};
}

SavedCollector Collector::saved() const {
  return {concurrency_.stable.saved(),
          concurrency_.panic.saved(),
          rps_.stable.saved(),
          rps_.panic.saved(),
          newest_,
          concurrency_.stable.aggregation()};
}

void Collector::restore(const SavedCollector& saved, TimePoint now) {
  concurrency_.stable.restore(saved.concurrency_stable, now);
  concurrency_.panic.restore(saved.concurrency_panic, now);
  rps_.stable.restore(saved.rps_stable, now);
  rps_.panic.restore(saved.rps_panic, now);
  for (Pair* pair : {&concurrency_, &rps_}) {
    pair->stable.set_aggregation(saved.aggregation);
    pair->panic.set_aggregation(saved.aggregation);
  }
  // An absent time compares as the earliest.
  newest_ = std::max(newest_, saved.newest);
}

bool Collector::silent(const DeciderSpec& spec, TimePoint now) const {
  return newest_ && now - *newest_ >= std::min<Duration>(kSilence, spec.stable_window / 2);
}

}  // namespace sluice::autoscaler
