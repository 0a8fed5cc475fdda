#include "common/json/parse.h"
#include "common/json/parse_into.h"

namespace sluice::reading {

std::optional<Flaw> parse(std::string_view text, const Bounds& bounds,
                          nlohmann::ordered_json& document) {
  return parse_into(text, bounds, document);
}

}  // namespace sluice::reading
