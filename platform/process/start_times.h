#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <optional>

namespace sluice::local {

/// How long the replicas of a revision take from start to ready: the last five starts.
class StartTimes {
 public:
  /// A replica has become ready, so long after its start.
  void note(Duration took);

  /// The middle one, of an even number the longer of both; absent: none has become ready.
  [[nodiscard]] std::optional<Duration> usual() const;

 private:
  static constexpr std::size_t kKept = 5;

  std::array<Duration, kKept> last_{};
  std::size_t noted_ = 0;  // so far
};

}  // namespace sluice::local
