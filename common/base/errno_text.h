#pragma once

#include <string>
#include <system_error>

namespace sluice {

/// The system's words for an error number, as `errno` holds one.
[[nodiscard]] inline std::string errno_text(int number) {
  return std::generic_category().message(number);
}

}  // namespace sluice
