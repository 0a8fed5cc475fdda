#include "injector/patch/json_access.h"

#include "common/json/parse.h"

namespace sluice::injector {
namespace {

constexpr reading::Bounds kBounds{.keys_max = 1024};

}  // namespace

const Json* named(const Json& list, std::string_view name) {
  if (!list.is_array()) return nullptr;
  for (const Json& item : list) {
    if (text(item, "name") == name) return &item;
  }
  return nullptr;
}

std::optional<Json> parse_json(std::string_view text) {
  Json document;
  if (reading::parse(text, kBounds, document)) return std::nullopt;
  return document;
}

}  // namespace sluice::injector
