#include "programs/sluice/engine/by_handle.h"

#include <gtest/gtest.h>

namespace sluice::local {
namespace {

using activator::RevisionHandle;

// As the front door numbers them: a generation above, a place that is used again below.
RevisionHandle handle(std::uint64_t generation, std::uint64_t place) {
  return static_cast<RevisionHandle>((generation << 32U) | place);
}

TEST(ByHandle, FindsEachRevisionByItsHandle) {
  ByHandle<int> book;
  int first = 1;
  int second = 2;
  book.enter(handle(1, 0), first);
  book.enter(handle(2, 999), second);
  EXPECT_EQ(book.find(handle(1, 0)), &first);
  EXPECT_EQ(book.find(handle(2, 999)), &second);
}

TEST(ByHandle, FindsNothingByAHandleThatNeverEntered) {
  ByHandle<int> book;
  int one = 1;
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
  book.enter(handle(1, 3), one);
  EXPECT_EQ(book.find(handle(1, 2)), nullptr);
  EXPECT_EQ(book.find(handle(1, 4)), nullptr);
  EXPECT_EQ(book.find(handle(0, 2)), nullptr);
}

TEST(ByHandle, FindsNothingByAHandleThatLeft) {
  ByHandle<int> book;
  int one = 1;
  book.enter(handle(1, 0), one);
  book.leave(handle(1, 0));
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
}

TEST(ByHandle, TellsTwoRevisionsOfOnePlaceApart) {
  ByHandle<int> book;
  int next = 2;
  int old = 1;
  book.enter(handle(1, 0), old);
  book.leave(handle(1, 0));
  book.enter(handle(2, 0), next);
  book.leave(handle(1, 0));
  EXPECT_EQ(book.find(handle(1, 0)), nullptr);
  EXPECT_EQ(book.find(handle(2, 0)), &next);
}

}  // namespace
}  // namespace sluice::local
