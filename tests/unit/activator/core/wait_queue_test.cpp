#include "activator/core/wait_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};
constexpr PodRef kA{.slot = 0, .generation = 1};
constexpr PodRef kB{.slot = 1, .generation = 2};

Ticket join(WaitQueue& queue, std::uint64_t cookie, const std::vector<PodRef>& tried = {},
            TimePoint deadline = kNever) {
  return queue.join({.cookie = cookie, .since = kStart, .deadline = deadline}, tried);
}

// All waiters in order for which no pod but `open` has room.
std::string served(WaitQueue& queue, PodRef open) {
  std::string text;
  const auto usable = [&](WaitQueue::Tried tried) {
    return std::find(tried.begin(), tried.end(), open) == tried.end();
  };
  while (const auto next = queue.first(usable)) {
    text += std::to_string(queue.remove(*next).cookie);
  }
  return text;
}

TEST(WaitQueue, WhoComesBackStandsAheadInTheOrderOfComingBack) {
  WaitQueue queue;
  join(queue, 1);
  join(queue, 2, {kA});
  join(queue, 3, {kB});
  join(queue, 4, {kA});
  join(queue, 5);

  EXPECT_EQ(queue.size(), 5);
  EXPECT_EQ(queue.returned(), 3);
  EXPECT_EQ(served(queue, {}), "23415");
}

TEST(WaitQueue, WhoMayNotUseThePodIsPassed) {
  WaitQueue queue;
  join(queue, 1, {kA});
  join(queue, 2, {kB, kA});
  join(queue, 3, {kB});
  join(queue, 4);

  EXPECT_EQ(served(queue, kA), "34");
  EXPECT_EQ(served(queue, kB), "1");
  EXPECT_EQ(queue.size(), 1);
}

TEST(WaitQueue, LanesAreUsedAgain) {
  WaitQueue queue;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Ticket ticket = join(queue, i, {PodRef{.slot = i, .generation = i}});
    join(queue, i);
    EXPECT_EQ(queue.tried(ticket).size(), 1U);
    queue.remove(ticket);
    queue.remove(*queue.front());
  }

  EXPECT_TRUE(queue.empty());
}

TEST(WaitQueue, TicketNamesItsWaiterUntilItLeaves) {
  WaitQueue queue;
  const Ticket first = join(queue, 1);
  const Ticket second = join(queue, 2);

  EXPECT_EQ(queue.remove(first).cookie, 1U);
  EXPECT_FALSE(queue.contains(first));
  const Ticket third = join(queue, 3);
  EXPECT_EQ(third.index, first.index);
  EXPECT_FALSE(queue.contains(first));
  EXPECT_EQ(queue.at(second).cookie, 2U);
  EXPECT_EQ(queue.at(third).cookie, 3U);
}

// Goal: deadlines come in order, whichever waiters left before. Method: a thousand scattered
// deadlines, every third of them gone.
TEST(WaitQueue, MostUrgentIsWhoHasTheEarliestDeadline) {
  WaitQueue queue;
  std::vector<Ticket> tickets;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    tickets.push_back(join(queue, i, {}, kStart + Duration{(i * 7919) % 1009}));
  }
  join(queue, 9999);
  for (std::size_t i = 0; i < tickets.size(); i += 3) {
    queue.remove(tickets[i]);
  }

  TimePoint last = kStart;
  int count = 0;
  while (const auto next = queue.most_urgent()) {
    EXPECT_GE(queue.at(*next).deadline, last);
    last = queue.remove(*next).deadline;
    ++count;
  }

  EXPECT_EQ(count, 666);
  EXPECT_EQ(queue.size(), 1);
}

TEST(WaitQueue, OfEqualDeadlinesTheLongestWaitingComesFirst) {
  WaitQueue queue;
  join(queue, 1, {}, kStart + 1s);
  join(queue, 2, {}, kStart + 1s);

  EXPECT_EQ(queue.at(*queue.most_urgent()).cookie, 1U);
}

TEST(WaitQueueDeathTest, LeavingTwiceIsABrokenInvariant) {
  WaitQueue queue;
  const Ticket ticket = join(queue, 1);
  queue.remove(ticket);

  EXPECT_DEATH(queue.remove(ticket), "CHECK failed");
}

}  // namespace
}  // namespace sluice::activator
