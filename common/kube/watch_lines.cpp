#include "common/kube/watch_lines.h"

namespace sluice::kube {
namespace {

// What the memory of a long line is given back above.
constexpr std::size_t kKeptMax = 64 * 1024;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

WatchLines::Fed WatchLines::feed(std::string_view piece,
                                 const std::function<bool(std::string_view)>& line) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (begun_.size() + part.size() > line_max_) {
      clear();
      return Fed::too_long;
    }
    if (end == std::string_view::npos) {
      begun_.append(part);
      return Fed::all;
    }
    piece.remove_prefix(end + 1);
    // Moved out, since the callee may end the watch and clear us.
    std::string whole;
    if (!begun_.empty()) {
      whole.swap(begun_);
      whole.append(part);
    }
    const std::string_view told = whole.empty() ? part : std::string_view{whole};
    if (!is_blank(told) && !line(told)) {
      clear();
      return Fed::stopped;
    }
    if (!whole.empty() && whole.capacity() <= kKeptMax && begun_.empty()) {
      whole.clear();
      begun_.swap(whole);
    }
  }
  return Fed::all;
}

void WatchLines::clear() {
  begun_.clear();
  begun_.shrink_to_fit();
}

}  // namespace sluice::kube
