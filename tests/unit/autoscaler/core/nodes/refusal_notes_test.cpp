#include "autoscaler/core/nodes/refusal_notes.h"

#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::minutes;

class Notes : public testing::Test {
 protected:
  std::uint64_t note(const std::string& peer, Duration at, std::string_view reason = "token") {
    return notes_.note(peer, reason, kStart + at).value_or(0);
  }

  void fill(Duration at) {
    for (std::size_t i = 0; i < RefusalNotes::kMost; ++i) {
      ASSERT_EQ(note("peer " + std::to_string(i), at), 1U);
    }
  }

  RefusalNotes notes_;
};

TEST_F(Notes, TheFirstRefusalOfEachPeerAndReasonIsLogged) {
  EXPECT_EQ(note("a", minutes{0}), 1U);
  EXPECT_EQ(note("a", minutes{0}, "tls"), 1U);
  EXPECT_EQ(note("b", minutes{0}), 1U);
  EXPECT_EQ(note("a", minutes{1}), 0U);
}

TEST_F(Notes, AfterAnHourTheNextRefusalIsLoggedWithTheCount) {
  EXPECT_EQ(note("a", minutes{0}), 1U);
  EXPECT_EQ(note("a", minutes{10}), 0U);
  EXPECT_EQ(note("a", minutes{59}), 0U);
  EXPECT_EQ(note("a", minutes{60}), 3U);
  EXPECT_EQ(note("a", minutes{119}), 0U);
  EXPECT_EQ(note("a", minutes{500}), 2U);
}

TEST_F(Notes, ATimeThatStepsBackLogsNothingTwice) {
  EXPECT_EQ(note("a", minutes{30}), 1U);
  EXPECT_EQ(note("a", minutes{0}), 0U);
  EXPECT_EQ(note("a", minutes{90}), 2U);
}

TEST_F(Notes, RefusalsBeyondTheLimitAreOnlyCountedUntilOldOnesExpire) {
  EXPECT_EQ(note("early", minutes{0}, "tls"), 1U);
  for (std::size_t i = 1; i < RefusalNotes::kMost; ++i) {
    ASSERT_EQ(note("peer " + std::to_string(i), minutes{30}), 1U);
  }
  EXPECT_EQ(note("late", minutes{59}), 0U);
  EXPECT_EQ(note("late", minutes{60}), 1U);
  EXPECT_EQ(note("later", minutes{61}), 0U);
  EXPECT_EQ(notes_.size(), RefusalNotes::kMost);
  EXPECT_EQ(note("later", minutes{90}), 1U);
  EXPECT_EQ(notes_.size(), 2U);
}

TEST_F(Notes, AFloodOfPeersIsDroppedAnHourLater) {
  fill(minutes{0});
  EXPECT_EQ(note("other", minutes{1}), 0U);
  fill(minutes{61});
  EXPECT_EQ(notes_.size(), RefusalNotes::kMost);
}

}  // namespace
}  // namespace sluice::autoscaler
