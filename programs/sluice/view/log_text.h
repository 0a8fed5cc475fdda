#pragma once

#include "common/time/time_point.h"

#include <string>
#include <string_view>

namespace sluice::view {

/// What the API's `logs?times=1` answers, for a person: the time of each line becomes local time,
/// `14:03:12.061`, with its date where that is not today's. The text comes in pieces.
class LogText {
 public:
  /// The lines that `piece` completes. Lines without a time stay as they are.
  [[nodiscard]] std::string lines(std::string_view piece, TimePoint now);

 private:
  std::string begun_;  // a line without its end
};

}  // namespace sluice::view
