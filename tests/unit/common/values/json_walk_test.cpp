#include "common/values/json_walk.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice {
namespace {

// The steps of a walk, and how it ended.
std::string walk_of(std::string_view text) {
  JsonWalk walk{text};
  std::string told;
  while (const auto step = walk.next()) {
    told.append(step->key).append("=").append(step->value).append(";");
  }
  return told + (walk.whole() ? "" : "broken");
}

TEST(JsonWalk, FindsMembersAndItems) {
  EXPECT_EQ(walk_of(R"( {"a" : 1 , "b":{"c":["}"]},"d":"x\"]\\"} )"),
            R"(a=1;b={"c":["}"]};d="x\"]\\";)");
  EXPECT_EQ(walk_of(R"([{"a":1},[2],null,"x"])"), R"(={"a":1};=[2];=null;="x";)");
  EXPECT_EQ(walk_of("{}"), "");
  EXPECT_EQ(walk_of("[ ]"), "");
}

TEST(JsonWalk, ReportsMalformedText) {
  for (const char* const text :
       {"", "1", "{", "[1", "[1,]", R"({"a":1,})", R"({"a"})", R"({"a":"x})", "[1 2]", "{} x",
        "[[1]", R"({"a":{"b":1})", R"({"a\)", "[,1]"}) {
    EXPECT_TRUE(walk_of(text).ends_with("broken")) << text;
  }
}

}  // namespace
}  // namespace sluice
