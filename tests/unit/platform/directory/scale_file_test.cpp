#include "platform/directory/scale_file.h"

#include <gtest/gtest.h>

namespace sluice::files {
namespace {

TEST(ScaleFile, IsWrittenAsDocumented) {
  EXPECT_EQ(write_scale_file({7, 2, {{"pod-3"}}}),
            "{\"remove\":[\"pod-3\"],\"replicas\":2,\"version\":7}\n");
}

TEST(ScaleFile, IsReadBack) {
  const ScaleFile file{7, 2, {{"pod-3"}, {"pod-1"}}};

  const auto parsed = parse_scale_file(write_scale_file(file));

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text();
  EXPECT_EQ(*parsed, file);
}

TEST(ScaleFile, AMissingNumberIsNotZero) {
  const auto parsed = parse_scale_file(R"({"version":7})");

  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().text(), "replicas: is missing; give how many replicas should run");
}

TEST(ScaleFile, MistakesAreNamed) {
  EXPECT_FALSE(parse_scale_file(R"({"replicas":-1})").has_value());
  EXPECT_FALSE(parse_scale_file(R"({"replicas":2147483648})").has_value());
  EXPECT_FALSE(parse_scale_file(R"({"replicas":1,"version":-1})").has_value());
  EXPECT_FALSE(parse_scale_file(R"({"replicas":1,"remove":[1]})").has_value());
  EXPECT_FALSE(parse_scale_file(R"({"replicas":1,"remove":["a","a"]})").has_value());
  EXPECT_FALSE(parse_scale_file("7").has_value());
  EXPECT_FALSE(parse_scale_file(R"({"replicas":1e999})").has_value());
}

}  // namespace
}  // namespace sluice::files
