#pragma once

#include "common/time/time_point.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::local {

/// What was not kept because writing failed.
struct Gap {
  TimePoint from{};
  TimePoint to{};
  std::int64_t count = 0;
  std::string reason;

  /// One more is lost.
  void lose(TimePoint at, const std::string& why) {
    if (count == 0) from = at;
    to = std::max(from, at);
    ++count;
    reason = why;
  }
};

/// The words of the system for `error`, as they stand within a sentence.
[[nodiscard]] std::string error_text(int error);

/// Whether `error` is that of a full disk, which is the same for every file on it.
[[nodiscard]] bool means_full(int error);

/// When a warning is due of what fails again and again: at its first failure, and then only after
/// it has worked for a while. On a disk that is all but full short lines work and long ones do not.
class FailureNotice {
 public:
  static constexpr Duration kSettled = std::chrono::seconds{10};

  /// It failed. True: a warning is due.
  [[nodiscard]] bool failed(TimePoint now);

  /// It worked. True: and what failed before is over.
  bool worked(TimePoint now);

 private:
  std::optional<TimePoint> last_;  // of a failure that is not over
};

}  // namespace sluice::local
