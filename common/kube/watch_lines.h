#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::kube {

/// Cuts the bytes of a watch into its events, one a line. A line that has not ended is kept and
/// never passed on: a watch that is cut in the middle of an event has not delivered it.
class WatchLines {
 public:
  /// The largest object that an API server stores has 1.5 MiB; what it adds stays far below this.
  static constexpr std::size_t kLineMax = 8U << 20U;

  explicit WatchLines(std::size_t line_max = kLineMax) : line_max_{line_max} {}

  enum class Fed : unsigned char { all, stopped, too_long };

  /// Calls `line` with each line that is now whole, without its end; empty ones are passed over.
  /// `line` returns whether to go on; what is left is then forgotten.
  [[nodiscard]] Fed feed(std::string_view piece, const std::function<bool(std::string_view)>& line);

  void clear();

 private:
  std::size_t line_max_;
  std::string begun_;  // a line whose end has not come
};

}  // namespace sluice::kube
