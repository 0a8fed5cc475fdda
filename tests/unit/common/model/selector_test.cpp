#include "common/model/selector.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::model {
namespace {

// What `text` is read as, or what is wrong with it.
std::string read(const std::string& text) {
  const auto selector = parse_selector(text);
  return selector ? selector_text(*selector) : selector.error().what;
}

bool matches(const std::string& text, const Labels& labels) {
  return parse_selector(text)->matches(labels);
}

TEST(Selector, ReadsAsKubectlWritesIt) {
  Selector selector;
  selector.labels = {{"app", "web"}};
  selector.expressions = {{"tier", Selector::Operator::in, {"a", "b"}},
                          {"old", Selector::Operator::does_not_exist, {}}};

  EXPECT_EQ(selector_text(selector), "app=web,tier in (a,b),!old");
  EXPECT_EQ(*parse_selector("app=web,tier in (a,b),!old"), selector);
}

TEST(Selector, TakesEveryFormOfKubernetesSyntax) {
  EXPECT_EQ(read("gpu=yes,zone in (a,b),!x,zone notin (c)"),
            "gpu=yes,zone in (a,b),!x,zone notin (c)");
  EXPECT_EQ(read(" gpu == yes , zone in ( a , b ) , ! x "), "gpu=yes,zone in (a,b),!x");
  EXPECT_EQ(read("gpu!=no"), "gpu notin (no)");
  EXPECT_EQ(read("example.com/gpu"), "example.com/gpu");
  EXPECT_EQ(read("empty="), "empty=");
  EXPECT_EQ(read(""), "");
}

TEST(Selector, TwoValuesOfOneKeyMatchNothing) {
  EXPECT_EQ(read("a=1,a=2"), "a=1,a in (2)");
  EXPECT_FALSE(matches("a=1,a=2", {{"a", "1"}}));
}

TEST(Selector, WhatIsNoConditionIsNamed) {
  for (const std::string text : {"a=b=c", "a in b", "a in (b", "a outof (b)", "a,,b", "a b", "-a",
                                 "a=b c", "!", "a!==b", "/a", "a/", "(a)", "in (a)"}) {
    const auto selector = parse_selector(text);
    EXPECT_FALSE(selector) << text;
  }
  EXPECT_EQ(read("gpu=yes,zone within (a)"), "`zone within (a)` is not a condition on labels");
}

TEST(Selector, MatchesAllConditionsTogether) {
  const Labels labels{{"gpu", "yes"}, {"zone", "a"}};

  EXPECT_TRUE(matches("gpu=yes,zone in (a,b)", labels));
  EXPECT_FALSE(matches("gpu=yes,zone in (b)", labels));
  EXPECT_TRUE(matches("zone notin (b),!old", labels));
  EXPECT_TRUE(matches("absent notin (b)", labels));
  EXPECT_FALSE(matches("!gpu", labels));
  EXPECT_TRUE(matches("gpu", labels));
}

TEST(Selector, AnEmptyOneMatchesNothing) {
  EXPECT_TRUE(Selector{}.empty());
  EXPECT_FALSE(Selector{}.matches({{"a", "b"}}));
}

}  // namespace
}  // namespace sluice::model
