// The three timers of a revision, under both contracts (queue-proxy.md 8 and 15.19).

#include "common/net/server/exchange_timers.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using namespace std::chrono_literals;
using Sent = ExchangeTimers::Sent;

constexpr TimePoint kStart{1'700'000'000s};
constexpr std::optional<Duration> kOff;

ExchangeTimers begun(const Timeouts& timeouts) {
  ExchangeTimers timers;
  timers.begin(kStart);
  timers.set(timeouts);
  return timers;
}

TEST(ExchangeTimers, BoundTheWholeRequestByMax) {
  const ExchangeTimers timers = begun({10s, kOff, kOff});

  for (const Sent sent : {Sent::nothing, Sent::interim, Sent::response}) {
    EXPECT_EQ(timers.next(sent).timer, Timer::max);
    EXPECT_EQ(timers.next(sent).at, kStart + 10s);
  }
}

TEST(ExchangeTimers, LetAStartedResponseContinueWhereMaxIsForTheFirstByte) {
  const ExchangeTimers timers = begun({10s, kOff, kOff, true});

  EXPECT_EQ(timers.next(Sent::nothing).timer, Timer::max);
  EXPECT_EQ(timers.next(Sent::response).timer, Timer::none);
}

TEST(ExchangeTimers, BoundARequestOfWhichOnlyAnInterimResponseIsKnown) {
  const ExchangeTimers timers = begun({10s, kOff, kOff, true});

  EXPECT_EQ(timers.next(Sent::interim).timer, Timer::max);
}

TEST(ExchangeTimers, KeepTheIdleTimerUnderBothContracts) {
  for (const bool until_first_byte : {false, true}) {
    ExchangeTimers timers = begun({100s, kOff, 5s, until_first_byte});
    timers.moved(kStart + 20s);

    EXPECT_EQ(timers.next(Sent::response).timer, Timer::idle);
    EXPECT_EQ(timers.next(Sent::response).at, kStart + 25s);
  }
}

TEST(ExchangeTimers, EndTheWaitForAStartWithAnyResponse) {
  const ExchangeTimers timers = begun({kOff, 3s, kOff});

  EXPECT_EQ(timers.next(Sent::nothing).timer, Timer::response_start);
  EXPECT_EQ(timers.next(Sent::interim).timer, Timer::none);
  EXPECT_EQ(timers.next(Sent::response).timer, Timer::none);
}

}  // namespace
}  // namespace sluice::net
