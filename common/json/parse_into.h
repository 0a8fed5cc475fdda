#pragma once

#include "common/json/parse.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string_view>

// Both kinds of documents are parsed alike, in a source each: a program that has no use for one
// does not link it.
namespace sluice::reading {

/// The first bound that `text` exceeds.
[[nodiscard]] std::optional<Flaw> exceeded(std::string_view text, const Bounds& bounds);

template <class Json>
std::optional<Flaw> parse_into(std::string_view text, const Bounds& bounds, Json& document) {
  document = nullptr;
  if (const auto flaw = exceeded(text, bounds)) return flaw;
  typename Json::parser_callback_t kept;
  if (bounds.left_out != nullptr) {
    kept = [&bounds](int depth, typename Json::parse_event_t event, Json& parsed) {
      return depth != 2 || event != Json::parse_event_t::key || parsed != bounds.left_out;
    };
  }
  try {
    document = Json::parse(text, kept);
    return std::nullopt;
  } catch (const typename Json::parse_error& error) {
    return Flaw{Flaw::Kind::malformed, error.byte};
  } catch (const typename Json::exception&) {
    return Flaw{Flaw::Kind::number_too_large};
  }
}

}  // namespace sluice::reading
