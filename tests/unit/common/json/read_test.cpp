#include "common/json/read.h"

#include <gtest/gtest.h>

namespace sluice::reading {
namespace {

template <class Json>
class JsonRead : public testing::Test {
 protected:
  const Json document_ = Json::parse(R"({
    "text": "a", "empty": "", "flag": true, "none": null, "list": ["a", 1, "b"], "half": 1.5,
    "map": {"a": "x", "b": 1, "c": "y"}, "small": -3, "large": 5000000000,
    "port": 8080, "no_port": 70000, "beyond": 18446744073709551615})");
};

using Documents = testing::Types<nlohmann::json, nlohmann::ordered_json>;
TYPED_TEST_SUITE(JsonRead, Documents);

TYPED_TEST(JsonRead, ReadsWhatIsThere) {
  const auto& at = this->document_;
  EXPECT_EQ(text(at, "text"), "a");
  EXPECT_TRUE(flag(at, "flag"));
  EXPECT_EQ(number(at, "half"), 1.5);
  EXPECT_EQ(number(at, "port"), 8080.0);
  EXPECT_EQ(whole(at, "small"), -3);
  EXPECT_EQ(whole(at, "large"), 5'000'000'000);
  EXPECT_EQ(port(at, "port"), 8080);
  EXPECT_EQ(array(at, "list").size(), 3U);
  EXPECT_EQ(strings(at, "list"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(string_map(at, "map").size(), 2U);
  EXPECT_EQ(string_map(at, "map").at("c"), "y");
}

TYPED_TEST(JsonRead, WhatIsAbsentNullOrOfAnotherTypeReadsAsNothing) {
  const auto& at = this->document_;
  for (const char* key : {"absent", "none", "list", "map", "flag"}) {
    EXPECT_EQ(text(at, key), "") << key;
    EXPECT_FALSE(number(at, key)) << key;
    EXPECT_FALSE(whole(at, key)) << key;
    EXPECT_EQ(integer32(at, key, 7), 7) << key;
    EXPECT_EQ(port(at, key), 0) << key;
  }
  for (const char* key : {"absent", "none", "text", "half"}) {
    EXPECT_TRUE(array(at, key).is_array() && array(at, key).empty()) << key;
    EXPECT_TRUE(string_map(at, key).empty()) << key;
    EXPECT_TRUE(strings(at, key).empty()) << key;
    EXPECT_TRUE(flag(at, key, true)) << key;
    EXPECT_FALSE(flag(at, key)) << key;
  }
  EXPECT_TRUE(member(at, "absent").is_null());
  EXPECT_TRUE(member(member(at, "text"), "deeper").is_null()) << "a text has no members";
}

TYPED_TEST(JsonRead, NumbersBeyondTheirRangeAreNothingOrTheNearest) {
  const auto& at = this->document_;
  EXPECT_FALSE(whole(at, "beyond"));
  EXPECT_FALSE(whole(at, "half"));
  EXPECT_EQ(integer32(at, "large", 0), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(port(at, "no_port"), 0);
  EXPECT_EQ(port(at, "small"), 0);
}

}  // namespace
}  // namespace sluice::reading
