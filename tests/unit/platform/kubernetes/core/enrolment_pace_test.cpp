// Who may have a token reviewed, by a clock of the test's.

#include "platform/kubernetes/core/enrolment_pace.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = EnrolmentPace::Verdict;

class Pace : public ::testing::Test {
 protected:
  // Whether the address may ask; what comes of it is known at once.
  bool asks(const std::string& address, Verdict verdict) {
    if (pace.ask(address, now) > Duration{0}) return false;
    pace.settled(address, verdict);
    return true;
  }

  EnrolmentPace pace;
  TimePoint now{seconds{1'000'000}};
};

TEST_F(Pace, OneAddressHasItsOwnPaceAndLeavesTheRestToOthers) {
  int asked = 0;
  while (asks("10.0.0.1", Verdict::agent)) ++asked;
  EXPECT_EQ(asked, static_cast<int>(EnrolmentPace::kPeerBurst));
  EXPECT_TRUE(asks("10.0.0.2", Verdict::agent));
  now += seconds{1};
  EXPECT_TRUE(asks("10.0.0.1", Verdict::agent));
  EXPECT_FALSE(asks("10.0.0.1", Verdict::agent));
}

TEST_F(Pace, AnAddressHasOneReviewAtATime) {
  EXPECT_EQ(pace.ask("10.0.0.1", now), Duration{0});
  EXPECT_GT(pace.ask("10.0.0.1", now), Duration{0});
  EXPECT_EQ(pace.ask("10.0.0.2", now), Duration{0});
  pace.settled("10.0.0.1", Verdict::unknown);
  EXPECT_EQ(pace.ask("10.0.0.1", now), Duration{0});
}

TEST_F(Pace, StrangersShareAPaceApartFromAgents) {
  for (int each = 0; each < 8; ++each)
    EXPECT_TRUE(asks("s" + std::to_string(each), Verdict::stranger));
  now += seconds{60};
  int asked = 0;
  for (int round = 0; round < 100; ++round) {
    for (int each = 0; each < 8; ++each)
      asked += asks("s" + std::to_string(each), Verdict::stranger) ? 1 : 0;
    now += milliseconds{100};
  }
  EXPECT_LE(asked, static_cast<int>(EnrolmentPace::kStrangersBurst + 10));
  for (int agent = 0; agent < static_cast<int>(EnrolmentPace::kBurst); ++agent) {
    EXPECT_TRUE(asks("a" + std::to_string(agent), Verdict::agent)) << agent;
  }
}

TEST_F(Pace, AStrangerThatPresentsAnAgentsTokenBecomesAnAgent) {
  EXPECT_TRUE(asks("10.0.0.1", Verdict::stranger));
  for (int each = 0; each < static_cast<int>(EnrolmentPace::kStrangersBurst); ++each) {
    const std::string other = "s" + std::to_string(each);
    EXPECT_TRUE(asks(other, Verdict::stranger));
    EXPECT_TRUE(asks(other, Verdict::stranger));
  }
  EXPECT_FALSE(asks("10.0.0.1", Verdict::agent)) << "strangers have used up theirs";
  now += seconds{1};
  EXPECT_TRUE(asks("10.0.0.1", Verdict::agent));
  EXPECT_TRUE(asks("10.0.0.1", Verdict::agent)) << "by the pace of all others";
}

TEST_F(Pace, AllTogetherCallTheApiServerNoFasterThanTheirPace) {
  int asked = 0;
  for (int round = 0; round < 100; ++round) {
    for (int each = 0; each < 50; ++each)
      asked += asks(std::to_string(each), Verdict::agent) ? 1 : 0;
    now += milliseconds{100};
  }
  EXPECT_LE(asked, static_cast<int>(EnrolmentPace::kBurst + 10 * EnrolmentPace::kPerSecond));
  EXPECT_GE(asked, static_cast<int>(10 * EnrolmentPace::kPerSecond));
}

TEST_F(Pace, KeepsALimitedNumberOfAddressesAndDropsTheLeastRecent) {
  EXPECT_TRUE(asks("first", Verdict::stranger));
  for (std::size_t each = 0; each <= EnrolmentPace::kPeersMax; ++each) {
    now += seconds{1};
    EXPECT_TRUE(asks(std::to_string(each), Verdict::agent));
  }
  EXPECT_EQ(pace.peers(), EnrolmentPace::kPeersMax);
  pace.settled("first", Verdict::stranger);
  EXPECT_EQ(pace.peers(), EnrolmentPace::kPeersMax);
}

TEST_F(Pace, HandshakesOfOneAddressArePacedWithoutDelayingOthers) {
  int shaken = 0;
  while (pace.connects("10.0.0.1", now)) ++shaken;
  EXPECT_EQ(shaken, static_cast<int>(EnrolmentPace::kHandshakesBurst));
  EXPECT_TRUE(pace.connects("10.0.0.2", now));
  EXPECT_TRUE(asks("10.0.0.1", Verdict::agent)) << "what it asks is another matter";
  now += seconds{1};
  EXPECT_TRUE(pace.connects("10.0.0.1", now));
}

TEST_F(Pace, ReportsHowLongToWait) {
  while (asks("10.0.0.1", Verdict::agent)) continue;
  const Duration wait = pace.ask("10.0.0.1", now);
  now += wait;
  EXPECT_EQ(pace.ask("10.0.0.1", now), Duration{0});
}

}  // namespace
}  // namespace sluice::autoscaler
