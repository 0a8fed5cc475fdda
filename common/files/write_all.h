#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace sluice::files {

/// Writes the whole of `content` to a blocking descriptor; false: it failed, and errno has the
/// reason.
[[nodiscard]] inline bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace sluice::files
