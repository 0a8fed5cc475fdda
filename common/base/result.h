#pragma once

#include "common/base/error.h"

#include <boost/system/result.hpp>

#include <string>

namespace sluice {

/// A value or the reason there is none. Use only has_value, bool, *, -> and error(): the subset
/// that std::expected shares, so that the later switch touches this file alone.
template <class T, class E = Error>
using Result = boost::system::result<T, E>;

/// A failure shown to a person: what is wrong, and the fix, in one sentence each.
struct Problem {
  std::string what;
  std::string fix;

  /// Both sentences on one line.
  [[nodiscard]] std::string text() const { return fix.empty() ? what : what + "; " + fix; }

  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace sluice
