#include "programs/sluice/view/log_text.h"

#include "common/values/rfc3339.h"

#include "platform/process/time_text.h"

namespace sluice::view {

std::string LogText::lines(std::string_view piece, TimePoint now) {
  std::string out;
  begun_ += piece;
  std::string_view rest = begun_;
  for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
    std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    const std::size_t space = line.find(' ');
    if (space != line.npos) {
      if (const auto at = parse_rfc3339(line.substr(0, space))) {
        out += local::format_moment(*at, now);
        line.remove_prefix(space);
      }
    }
    out += line;
  }
  begun_ = std::string(rest);
  return out;
}

}  // namespace sluice::view
