#include "common/base/json_depth.h"

#include <algorithm>

namespace sluice {

int json_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    } else {
      quoted = c == '"';
    }
  }
  return deepest;
}

}  // namespace sluice
