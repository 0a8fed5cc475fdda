#pragma once

#include <string>

namespace sluice::autoscaler {

/// Why a condition is not as it should be: one word for machines, what and fix for people.
struct Trouble {
  std::string reason;
  std::string what;
  std::string fix;
  bool waiting = false;  ///< it ends by itself: Unknown, not False

  [[nodiscard]] std::string message() const { return fix.empty() ? what : what + "; " + fix; }

  friend bool operator==(const Trouble&, const Trouble&) = default;
};

}  // namespace sluice::autoscaler
