#pragma once

#include "common/log/log.h"
#include "common/time/time_point.h"

#include <cstdint>

namespace sluice::log {

/// How many lines of failed requests a program writes: enough to see what goes wrong, without a
/// flood during an overload.
class FailureLog {
 public:
  /// `log` outlives it.
  explicit FailureLog(const Logger& log) : log_{log} {}

  /// Whether one more failure, at `now`, gets a line: ten of a second do. The first failure of a
  /// later second writes how many got none.
  bool admits(TimePoint now);

 private:
  const Logger& log_;
  TimePoint since_{};  // start of the present second
  int written_ = 0;
  std::uint64_t omitted_ = 0;
};

}  // namespace sluice::log
