#include "common/json/parse.h"

#include "common/json/parse_into.h"

#include <vector>

namespace sluice::reading {

std::optional<Flaw> exceeded(std::string_view text, const Bounds& bounds) {
  if (text.size() > bounds.bytes_max) return Flaw{Flaw::Kind::too_large};
  std::vector<std::size_t> keys{0};  // of what is open, outermost first
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '[' || c == '{') {
      if (keys.size() > static_cast<std::size_t>(bounds.depth_max)) {
        return Flaw{Flaw::Kind::too_deep};
      }
      keys.push_back(0);
    } else if (c == ']' || c == '}') {
      keys.pop_back();
      if (keys.empty()) return std::nullopt;  // no JSON, as the parser will find here
    } else if (c == ':') {
      if (++keys.back() > bounds.keys_max) return Flaw{Flaw::Kind::too_wide};
    } else {
      quoted = c == '"';
    }
  }
  return std::nullopt;
}

std::optional<Flaw> parse(std::string_view text, const Bounds& bounds, nlohmann::json& document) {
  return parse_into(text, bounds, document);
}

nlohmann::json parsed(std::string_view text) {
  nlohmann::json document;
  (void)parse(text, Bounds{}, document);  // which leaves null after a flaw
  return document;
}

}  // namespace sluice::reading
