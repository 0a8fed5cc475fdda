#include "common/json/parse.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace sluice::reading {
namespace {

using Kind = Flaw::Kind;

std::optional<Kind> kind_of(std::string_view text, const Bounds& bounds = {}) {
  nlohmann::json document = 1;
  nlohmann::ordered_json ordered = 1;
  const auto flaw = parse(text, bounds, document);
  const auto same = parse(text, bounds, ordered);
  EXPECT_EQ(flaw.has_value(), same.has_value()) << text;
  EXPECT_EQ(flaw ? flaw->kind : Kind::malformed, same ? same->kind : Kind::malformed) << text;
  if (flaw) {
    EXPECT_TRUE(document.is_null() && ordered.is_null()) << text;
  }
  return flaw ? std::optional{flaw->kind} : std::nullopt;
}

std::string nested(int levels) {
  const auto size = static_cast<std::size_t>(levels);
  return std::string(size, '[') + std::string(size, ']');
}

TEST(JsonParse, BoundsAreCheckedBeforeTheTextIsParsed) {
  EXPECT_EQ(kind_of("[1]", {.bytes_max = 3}), std::nullopt);
  EXPECT_EQ(kind_of("[12]", {.bytes_max = 3}), Kind::too_large);
  EXPECT_EQ(kind_of(nested(4), {.depth_max = 4}), std::nullopt);
  EXPECT_EQ(kind_of(nested(5), {.depth_max = 4}), Kind::too_deep);
  EXPECT_EQ(kind_of(nested(64)), std::nullopt);
  EXPECT_EQ(kind_of(nested(65)), Kind::too_deep);
  EXPECT_EQ(kind_of(std::string(100'000, '[')), Kind::too_deep) << "no bracket has to close";
  EXPECT_EQ(kind_of(R"([{"a":1,"b":2},{"a":1,"b":2}])", {.keys_max = 2}), std::nullopt);
  EXPECT_EQ(kind_of(R"({"x":{"a":1,"b":2,"c":3}})", {.keys_max = 2}), Kind::too_wide);
}

TEST(JsonParse, BracketsAndColonsInsideOfTextCountForNothing) {
  EXPECT_EQ(kind_of(R"(["[[[[{{{{\"[[["])", {.depth_max = 1}), std::nullopt);
  EXPECT_EQ(kind_of(R"({"a:b:c\\":"::::"})", {.keys_max = 1}), std::nullopt);
}

TEST(JsonParse, NamesThePlaceWhereATextStopsBeingJson) {
  nlohmann::json document;
  const auto flaw = parse(R"({"a": nul})", Bounds{}, document);
  ASSERT_TRUE(flaw);
  EXPECT_EQ(flaw->kind, Kind::malformed);
  EXPECT_EQ(flaw->byte, 10U);
  for (const char* text : {"", " ", "]", "[]]", "[", "{\"a\"}", "[1] 2", "\"\xFF\"", "'a'"}) {
    EXPECT_EQ(kind_of(text), Kind::malformed) << text;
  }
  EXPECT_EQ(kind_of("[1e999]"), Kind::number_too_large);
}

TEST(JsonParse, LeavesOutAKeyOfTheSecondLevelOnly) {
  nlohmann::json document;
  const char* const text = R"({"drop":1,"metadata":{"drop":[1],"name":"a","in":{"drop":2}}})";
  ASSERT_FALSE(parse(text, {.left_out = "drop"}, document));
  EXPECT_EQ(document.dump(), R"({"drop":1,"metadata":{"in":{"drop":2},"name":"a"}})");
}

TEST(JsonParse, WhatIsNoJsonIsParsedAsNull) {
  EXPECT_EQ(parsed("[1]"), nlohmann::json::array({1}));
  EXPECT_TRUE(parsed("[1").is_null());
  EXPECT_TRUE(parsed(nested(65)).is_null());
}

TEST(JsonParse, AnOrderedDocumentKeepsItsOrder) {
  nlohmann::ordered_json document;
  ASSERT_FALSE(parse(R"({"b":1,"a":2})", Bounds{}, document));
  EXPECT_EQ(document.dump(), R"({"b":1,"a":2})");
}

}  // namespace
}  // namespace sluice::reading
