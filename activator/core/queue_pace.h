#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::activator {

/// How fast a queue has been served, for the one question whether a request that joins now can
/// still be served in time. It errs towards yes, since a request that could have been served must
/// not be refused.
///
/// The rule. While a request waits, the time between looks is cut into spans of kSpan or more, and
/// each gives a rate: admissions from the queue by its length. A place with `ahead` waiters before
/// it is reached no sooner than (ahead + 1) / (kSafety · the best rate of the last kSpans spans).
/// Nothing is known, so no request is refused, before two spans are over, without any admission in
/// them, and after anything that makes the past a bad guide: the queue ran empty, or the pods can
/// carry more than before. Arrivals are the looks, so nothing needs a timer.
class QueuePace {
 public:
  static constexpr Duration kSpan = std::chrono::seconds{1};
  static constexpr std::size_t kSpans = 8;
  /// Those ahead may give up, and service may speed up, by this factor.
  static constexpr double kSafety = 2;

  /// Drops the measurements: they no longer predict anything.
  void forget() { *this = {}; }

  /// A waiting request was admitted.
  void admitted() { ++admitted_; }

  /// The least wait of a request that joins behind `ahead` waiters now; nothing when it is not
  /// known. A time that steps back is read as no time passed.
  [[nodiscard]] std::optional<Duration> least_wait(std::int32_t ahead, TimePoint now);

 private:
  std::array<float, kSpans> rates_{};  // per second
  TimePoint span_began_{};
  std::uint32_t admitted_ = 0;  // in the span under way
  std::uint32_t spans_ = 0;     // that are over
  bool began_ = false;
};

}  // namespace sluice::activator
