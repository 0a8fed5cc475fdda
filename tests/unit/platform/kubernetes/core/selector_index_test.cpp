#include "platform/kubernetes/core/selector_index.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

kube::Selector labels(kube::StringMap of) {
  kube::Selector selector;
  selector.labels = std::move(of);
  return selector;
}

const RevisionId kWeb{"shop", "web"};

TEST(SelectorIndex, FindsEveryScalerThatSelectsAPodOfItsNamespace) {
  SelectorIndex index;
  index.set(kWeb, labels({{"app", "web"}, {"tier", "front"}}));
  index.set({"other", "web"}, labels({{"app", "web"}}));

  EXPECT_EQ(index.find("shop", {{"app", "web"}, {"tier", "front"}, {"hash", "1"}}),
            std::vector{kWeb});
  EXPECT_TRUE(index.find("shop", {{"app", "web"}}).empty());
}

TEST(SelectorIndex, ExpressionsCountToo) {
  SelectorIndex index;
  kube::Selector selector;
  selector.expressions.push_back({"app", kube::Selector::Operator::in, {"web", "api"}});
  index.set(kWeb, selector);

  EXPECT_EQ(index.find("shop", {{"app", "api"}}), std::vector{kWeb});
  EXPECT_TRUE(index.find("shop", {{"app", "db"}}).empty());
}

TEST(SelectorIndex, AnotherSelectorReplacesThePreviousOne) {
  SelectorIndex index;
  EXPECT_TRUE(index.set(kWeb, labels({{"app", "web"}})));
  EXPECT_FALSE(index.set(kWeb, labels({{"app", "web"}})));

  EXPECT_TRUE(index.set(kWeb, labels({{"app", "shop"}})));

  EXPECT_TRUE(index.find("shop", {{"app", "web"}}).empty());
  EXPECT_EQ(index.find("shop", {{"app", "shop"}}), std::vector{kWeb});
}

TEST(SelectorIndex, ARemovedScalerSelectsNothing) {
  SelectorIndex index;
  index.set(kWeb, labels({{"app", "web"}}));
  index.remove(kWeb);
  index.remove(kWeb);
  EXPECT_TRUE(index.find("shop", {{"app", "web"}}).empty());
}

TEST(SelectorIndex, AnEmptySelectorSelectsNothing) {
  SelectorIndex index;
  index.set(kWeb, {});
  EXPECT_TRUE(index.find("shop", {{"app", "web"}}).empty());
}

}  // namespace
}  // namespace sluice::autoscaler
