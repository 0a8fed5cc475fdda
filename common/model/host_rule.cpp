#include "common/model/host_rule.h"

#include <algorithm>

namespace sluice::model {

std::optional<std::string> read_path_prefix(std::string_view text) {
  if (text.size() > kPathPrefixBytesMax || !(text.empty() || text.front() == '/')) {
    return std::nullopt;
  }
  const bool odd = std::any_of(text.begin(), text.end(), [](signed char c) {
    return c <= ' ' || c >= '\x7f' || c == '?' || c == '#';
  });
  if (odd) return std::nullopt;
  return std::string{text.substr(0, text.find_last_not_of('/') + 1)};
}

}  // namespace sluice::model
