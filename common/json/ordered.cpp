// Documents whose keys keep their order, in an object file of their own: the sidecar has none.

#include "common/json/parse.h"
#include "common/json/parse_into.h"
#include "common/json/write.h"

namespace sluice {

namespace reading {

std::optional<Flaw> parse(std::string_view text, const Bounds& bounds,
                          nlohmann::ordered_json& document) {
  return parse_into(text, bounds, document);
}

}  // namespace reading

std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sluice
