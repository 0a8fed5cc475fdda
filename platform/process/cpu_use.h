#pragma once

#include "common/time/time_point.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace sluice::local {

/// How much CPU replicas use, made of readings of the time that they have had so far. What was used
/// fades: after 10 s it counts for a third.
class CpuUse {
 public:
  /// Readings of one replica that follow each other faster are left out: a tick of the kernel is
  /// 10 ms.
  static constexpr Duration kStepLeast = std::chrono::seconds{1};

  /// The replica has had so much processor time. One that has had less than at the last reading has
  /// lost processes, or is read elsewhere: it is measured from here on.
  void note(const std::string& replica, Duration used, TimePoint now);

  /// In thousandths of a core; absent: there are no two readings of it yet.
  [[nodiscard]] std::optional<std::int64_t> millicores(const std::string& replica) const;

  /// The replica is gone.
  void forget(const std::string& replica) { replicas_.erase(replica); }

 private:
  struct Measured {
    Duration used{0};
    TimePoint at{};
    std::optional<double> millicores{};
  };

  std::map<std::string, Measured> replicas_;
};

}  // namespace sluice::local
