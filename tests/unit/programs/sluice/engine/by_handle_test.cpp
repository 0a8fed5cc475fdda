#include "programs/sluice/engine/by_handle.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace sluice::local {
namespace {

using activator::RevisionHandle;

// As the front door numbers them: a generation above, a place that is used again below.
RevisionHandle handle(std::uint64_t generation, std::uint64_t place) {
  return static_cast<RevisionHandle>((generation << 32U) | place);
}

TEST(ByHandle, FindsEachRevisionByItsHandle) {
  ByHandle<int> book;
  const auto first = std::make_shared<int>(1);
  const auto second = std::make_shared<int>(2);
  book.enter(handle(1, 0), first);
  book.enter(handle(2, 999), second);
  EXPECT_EQ(book.find(handle(1, 0)), first.get());
  EXPECT_EQ(book.find(handle(2, 999)), second.get());
}

TEST(ByHandle, FindsNothingByAnUnknownHandle) {
  ByHandle<int> book;
  const auto one = std::make_shared<int>(1);
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
  book.enter(handle(1, 3), one);
  EXPECT_EQ(book.find(handle(1, 2)), nullptr);
  EXPECT_EQ(book.find(handle(1, 4)), nullptr);
  EXPECT_EQ(book.find(handle(0, 2)), nullptr);
}

TEST(ByHandle, FindsNothingByARemovedHandle) {
  ByHandle<int> book;
  const auto one = std::make_shared<int>(1);
  book.enter(handle(1, 0), one);
  book.leave(handle(1, 0));
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
}

TEST(ByHandle, DistinguishesTwoRevisionsOfOnePlace) {
  ByHandle<int> book;
  const auto next = std::make_shared<int>(2);
  const auto old = std::make_shared<int>(1);
  book.enter(handle(1, 0), old);
  book.leave(handle(1, 0));
  book.enter(handle(2, 0), next);
  book.leave(handle(1, 0));
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
  EXPECT_EQ(book.find(handle(2, 0)), next.get());
}

TEST(ByHandle, KeepsAnItemThatItsOwnerHasDroppedUntilItsLastRevisionLeaves) {
  ByHandle<int> book;
  auto service = std::make_shared<int>(1);
  const std::weak_ptr<int> there = service;
  book.enter(handle(1, 0), service);
  book.enter(handle(1, 1), std::exchange(service, nullptr));
  book.leave(handle(1, 0));
  ASSERT_NE(book.find(handle(1, 1)), nullptr);
  EXPECT_EQ(*book.find(handle(1, 1)), 1);
  book.leave(handle(1, 1));
  EXPECT_TRUE(there.expired());
}

}  // namespace
}  // namespace sluice::local
