#include "common/base/lifetime.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace sluice {
namespace {

struct Counter {
  std::function<void()> later() {
    return [this, alive = alive_.watch()] {
      if (!alive.over()) ++*count_;
    };
  }

  std::shared_ptr<int> count_ = std::make_shared<int>(0);
  Lifetime alive_;
};

TEST(Lifetime, ACallbackFindsItsObjectWhileItExists) {
  Counter counter;
  const auto later = counter.later();

  later();

  EXPECT_EQ(*counter.count_, 1);
}

TEST(Lifetime, ACallbackThatOutlivesItsObjectFindsItGone) {
  auto counter = std::make_unique<Counter>();
  const auto count = counter->count_;
  const auto later = counter->later();
  counter.reset();

  later();

  EXPECT_EQ(*count, 0);
}

TEST(Lifetime, EndsBeforeItsObjectDoes) {
  Counter counter;
  const auto later = counter.later();
  counter.alive_.end();

  later();

  EXPECT_EQ(*counter.count_, 0);
  EXPECT_TRUE(counter.alive_.watch().over());
}

TEST(Lifetime, AnEmptyWatchIsExpired) {
  EXPECT_TRUE(Lifetime::Watch{}.over());
}

}  // namespace
}  // namespace sluice
