#include "load/core/path_template.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::loadgen {
namespace {

std::string path_of(std::string_view text, std::uint64_t number) {
  std::string out;
  PathTemplate::parse(text)->append_to(out, number, 1);
  return out;
}

TEST(PathTemplate, CountsRequests) {
  EXPECT_EQ(path_of("/item/{n}", 1234), "/item/1234");
  EXPECT_EQ(path_of("/item/{n%1000}/{n%7}?x", 1234), "/item/234/2?x");
  EXPECT_EQ(path_of("/plain", 5), "/plain");
}

TEST(PathTemplate, DrawsEveryNumberOfItsRangeAndNoOther) {
  const auto path = PathTemplate::parse("/{rand:3-6}");
  std::set<std::string> seen;
  for (std::uint64_t number = 0; number < 200; ++number) {
    std::string out;
    path->append_to(out, number, 1);
    seen.insert(out);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"/3", "/4", "/5", "/6"}));
}

TEST(PathTemplate, DrawsTheSameForARequestInAnyOrder) {
  EXPECT_EQ(path_of("/{rand:1-1000000}", 7), path_of("/{rand:1-1000000}", 7));
  EXPECT_NE(path_of("/{rand:1-1000000}", 7), path_of("/{rand:1-1000000}", 8));
}

TEST(PathTemplate, IsFixedWithoutParts) {
  EXPECT_TRUE(PathTemplate::parse("/a")->is_fixed());
  EXPECT_FALSE(PathTemplate::parse("/{n}")->is_fixed());
  EXPECT_TRUE(PathTemplate::literal("/{n}").is_fixed());
}

TEST(PathTemplate, RefusesOtherParts) {
  for (const char* text : {"/{m}", "/{n", "/{n%0}", "/{n%}", "/{rand:9-1}", "/{rand:1}",
                           "/{rand:a-b}", "/{rand:1-9999999999999}", "/{}"}) {
    EXPECT_FALSE(PathTemplate::parse(text)) << text;
  }
  std::string many;
  for (int i = 0; i < 17; ++i) many += "/{n}";
  EXPECT_FALSE(PathTemplate::parse(many));
}

}  // namespace
}  // namespace sluice::loadgen
