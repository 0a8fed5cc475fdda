#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::node_agent {

/// How long calls take of late.
class Latency {
 public:
  void note(Duration took) {
    took_.push_back(took);
    if (took_.size() > kKept) took_.pop_front();
  }

  /// What nine of ten took no longer than; absent: none has ended yet.
  [[nodiscard]] std::optional<Duration> p90() const {
    if (took_.empty()) return std::nullopt;
    std::vector<Duration> sorted{took_.begin(), took_.end()};
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
  }

 private:
  /// Enough to have a tenth, few enough to follow the load.
  static constexpr std::size_t kKept = 20;

  std::deque<Duration> took_;
};

}  // namespace sluice::node_agent
