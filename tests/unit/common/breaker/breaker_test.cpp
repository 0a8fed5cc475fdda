#include "common/breaker/breaker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

namespace sluice::breaker {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// queue-proxy.md 13, row 1.
TEST(Breaker, RunsItsConcurrencyAndQueuesTenTimesAsMany) {
  Breaker breaker({.concurrency = 1, .queue_depth = 10});

  EXPECT_EQ(breaker.enter(kStart).entry, Entry::admitted);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(breaker.enter(kStart).entry, Entry::queued);
  }
  EXPECT_EQ(breaker.enter(kStart).entry, Entry::refused);
}

// Row 2.
TEST(Breaker, RefusesExactlyOneOfThreeWithOneSlotAndOnePlace) {
  Breaker breaker({.concurrency = 1, .queue_depth = 1});

  EXPECT_EQ(breaker.enter(kStart).entry, Entry::admitted);
  EXPECT_EQ(breaker.enter(kStart).entry, Entry::queued);
  EXPECT_EQ(breaker.enter(kStart).entry, Entry::refused);
}

// Row 3: the age of a waiter is what the breaker decides; the text is the caller's.
TEST(Breaker, ExpiresWaitersPastTheirLimitOldestFirst) {
  Breaker breaker({.concurrency = 0, .queue_depth = 3});
  const Ticket first = breaker.enter(kStart).ticket;
  const Ticket second = breaker.enter(kStart + 1s).ticket;

  EXPECT_EQ(breaker.expire(kStart + 5s - 1ns, 5s), std::nullopt);
  EXPECT_EQ(breaker.oldest_waiting(), kStart);
  EXPECT_EQ(breaker.expire(kStart + 5s, 5s), first);
  EXPECT_EQ(breaker.expire(kStart + 5s, 5s), std::nullopt);
  EXPECT_EQ(breaker.expire(kStart + 6s, 5s), second);
  EXPECT_EQ(breaker.oldest_waiting(), std::nullopt);
}

// Row 4.
TEST(Breaker, CancelledWaiterFreesItsPlace) {
  Breaker breaker({.concurrency = 1, .queue_depth = 1});
  (void)breaker.enter(kStart);
  const Ticket waiting = breaker.enter(kStart).ticket;

  EXPECT_TRUE(breaker.cancel(waiting));

  EXPECT_EQ(breaker.enter(kStart).entry, Entry::queued);
}

// Row 6.
TEST(Breaker, WithoutCapacityNewWorkWaits) {
  Breaker breaker({.concurrency = 0, .queue_depth = 2});

  EXPECT_EQ(breaker.enter(kStart).entry, Entry::queued);
}

// Row 7.
TEST(Breaker, ReserveNeverWaits) {
  Breaker breaker({.concurrency = 1, .queue_depth = 1});

  EXPECT_TRUE(breaker.reserve());
  EXPECT_FALSE(breaker.reserve());
  EXPECT_EQ(breaker.leave(), std::nullopt);
  EXPECT_TRUE(breaker.reserve());
}

// Row 8. Row 5 has no breaker at all: the caller builds none.
TEST(BreakerDeathTest, RefusesToBeBuiltOutsideItsRanges) {
  EXPECT_DEATH(Breaker({.concurrency = 1, .queue_depth = 0}), "CHECK failed");
  EXPECT_DEATH(Breaker({.concurrency = -1, .queue_depth = 1}), "CHECK failed");
}

TEST(BreakerDeathTest, LeavingWithoutHavingEnteredIsABrokenInvariant) {
  Breaker breaker({.concurrency = 1, .queue_depth = 1});

  EXPECT_DEATH((void)breaker.leave(), "CHECK failed");
}

TEST(Breaker, StaleTicketMatchesNoWaiter) {
  Breaker breaker({.concurrency = 1, .queue_depth = 1});
  (void)breaker.enter(kStart);
  const Ticket admitted = breaker.enter(kStart).ticket;
  ASSERT_EQ(breaker.leave(), admitted);
  const Ticket reused = breaker.enter(kStart).ticket;
  ASSERT_EQ(reused.index, admitted.index);

  EXPECT_FALSE(breaker.cancel(admitted));
  EXPECT_FALSE(breaker.cancel(Ticket{}));
  EXPECT_TRUE(breaker.cancel(reused));
  EXPECT_FALSE(breaker.cancel(reused));
}

TEST(Breaker, ArrivalThatStepsBackIsAsOldAsTheOneBefore) {
  Breaker breaker({.concurrency = 0, .queue_depth = 3});
  (void)breaker.enter(kStart + 2s);
  const Ticket back = breaker.enter(kStart).ticket;

  EXPECT_NE(breaker.expire(kStart + 12s, 10s), std::nullopt);
  EXPECT_EQ(breaker.expire(kStart + 12s, 10s), back);
}

// What a breaker is, said as plainly as possible; names stand for tickets.
struct NaiveBreaker {
  std::int32_t capacity;
  std::int32_t depth;
  std::int32_t running = 0;
  std::deque<int> waiting = {};

  std::string enter(int name) {
    if (running < capacity) {
      ++running;
      return "admitted";
    }
    if (static_cast<std::int32_t>(waiting.size()) == depth) {
      return "refused";
    }
    waiting.push_back(name);
    return "queued";
  }

  std::string admit() {
    std::string woken;
    while (running < capacity && !waiting.empty()) {
      woken += std::to_string(waiting.front()) + ' ';
      waiting.pop_front();
      ++running;
    }
    return woken;
  }
};

enum class Step { enter, reserve, leave, cancel_front, cancel_back, expire };

constexpr int kSteps = 6;

// Plays one step on both and compares what they said; false when the step means nothing now.
class Pair {
 public:
  Pair(std::int32_t capacity, std::int32_t depth)
      : breaker_({.concurrency = capacity, .queue_depth = depth}),
        naive_{.capacity = capacity, .depth = depth} {}

  [[nodiscard]] bool play(Step step) {
    now_ += 1s;
    switch (step) {
      case Step::enter:
        return enter();
      case Step::reserve: {
        const bool free = naive_.running < naive_.capacity;
        naive_.running += free ? 1 : 0;
        EXPECT_EQ(breaker_.reserve(), free);
        return true;
      }
      case Step::leave: {
        if (naive_.running == 0) {
          return false;
        }
        --naive_.running;
        const std::optional<Ticket> woken = breaker_.leave();
        EXPECT_EQ(woken ? name(*woken) + ' ' : "", naive_.admit());
        return true;
      }
      case Step::cancel_front:
      case Step::cancel_back:
        return cancel(step == Step::cancel_front);
      case Step::expire:
        return expire();
    }
    return false;
  }

  void compare() const {
    EXPECT_EQ(breaker_.running(), naive_.running);
    EXPECT_EQ(breaker_.waiting(), static_cast<std::int32_t>(naive_.waiting.size()));
    EXPECT_EQ(breaker_.capacity(), naive_.capacity);
    EXPECT_TRUE(breaker_.waiting() == 0 || breaker_.running() >= breaker_.capacity());
  }

 private:
  bool enter() {
    const Entered entered = breaker_.enter(now_);
    const std::string wanted = naive_.enter(next_name_);
    EXPECT_EQ(entered.entry == Entry::admitted, wanted == "admitted");
    EXPECT_EQ(entered.entry == Entry::refused, wanted == "refused");
    tickets_.push_back(entered.ticket);
    ++next_name_;
    return true;
  }

  bool cancel(bool front) {
    if (naive_.waiting.empty()) {
      return false;
    }
    const int chosen = front ? naive_.waiting.front() : naive_.waiting.back();
    std::erase(naive_.waiting, chosen);
    const Ticket ticket = tickets_.at(static_cast<std::size_t>(chosen));
    EXPECT_TRUE(breaker_.cancel(ticket));
    EXPECT_FALSE(breaker_.cancel(ticket));
    return true;
  }

  bool expire() {
    const std::optional<Ticket> late = breaker_.expire(now_, 1s);
    EXPECT_EQ(late.has_value(), !naive_.waiting.empty());
    if (late) {
      EXPECT_EQ(name(*late), std::to_string(naive_.waiting.front()));
      naive_.waiting.pop_front();
    }
    return true;
  }

  [[nodiscard]] std::string name(Ticket ticket) const {
    const auto known = std::find(tickets_.begin(), tickets_.end(), ticket);
    return known == tickets_.end() ? "none" : std::to_string(known - tickets_.begin());
  }

  Breaker breaker_;
  NaiveBreaker naive_;
  std::vector<Ticket> tickets_;  // by name; no ticket for those who never waited
  int next_name_ = 0;
  TimePoint now_ = kStart;
};

constexpr int kSequences = kSteps * kSteps * kSteps * kSteps * kSteps * kSteps;

// Plays the steps that are the digits of `sequence`, first step first. Returns how far it is to the
// next sequence worth playing: all that share a beginning which ends in a step that means nothing
// are one and the same.
int play_sequence(Pair& pair, int sequence) {
  int unit = kSequences / kSteps;
  while (unit > 0 && pair.play(static_cast<Step>(sequence / unit % kSteps))) {
    unit /= kSteps;
  }
  return std::max(unit, 1);
}

// Goal: in every state the breaker answers as its definition does.
// Method: every sequence of six events on every breaker with at most three slots and three places.
TEST(Breaker, AgreesWithItsDefinitionOnEverySequenceOfSixEvents) {
  for (std::int32_t capacity = 0; capacity <= 3; ++capacity) {
    for (std::int32_t depth = 1; depth <= 3; ++depth) {
      for (int sequence = 0; sequence < kSequences;) {
        Pair pair(capacity, depth);
        sequence += play_sequence(pair, sequence);
        pair.compare();
        ASSERT_FALSE(testing::Test::HasFailure())
            << "capacity " << capacity << " depth " << depth << " before " << sequence;
      }
    }
  }
}

}  // namespace
}  // namespace sluice::breaker
