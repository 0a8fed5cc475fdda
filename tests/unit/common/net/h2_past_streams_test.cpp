// What is said of frames for streams that are over (RFC 9113, 5.1): errors where the client cannot
// be innocent, nothing otherwise.

#include "common/net/h2/h2_past_streams.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using Verdict = H2PastStreams::Verdict;

TEST(H2PastStreams, ReportsNoEndOfAStreamThatTheServerReset) {
  H2PastStreams past;
  past.opened(1);
  EXPECT_EQ(past.look(1), Verdict::unknown);
  EXPECT_EQ(past.look(3), Verdict::unknown);
}

TEST(H2PastStreams, KeepsHowTheClientEndedAStream) {
  H2PastStreams past;
  past.opened(1);
  past.ended(1, false);
  past.opened(3);
  past.ended(3, true);

  EXPECT_EQ(past.look(1), Verdict::behind_end);
  EXPECT_EQ(past.look(3), Verdict::behind_reset);
}

TEST(H2PastStreams, CountsTheLastOfSeveralEnds) {
  H2PastStreams past;
  past.opened(1);
  past.ended(1, false);
  past.opened(3);
  past.ended(3, false);
  past.ended(1, true);

  EXPECT_EQ(past.look(1), Verdict::behind_reset);
}

TEST(H2PastStreams, KeepsSkippedStreamNumbers) {
  H2PastStreams past;
  past.opened(3);
  past.opened(5);
  past.opened(11);

  EXPECT_EQ(past.look(1), Verdict::never_opened);
  EXPECT_EQ(past.look(7), Verdict::never_opened);
  EXPECT_EQ(past.look(9), Verdict::never_opened);
  for (const std::int32_t opened : {3, 5, 11, 13}) EXPECT_EQ(past.look(opened), Verdict::unknown);
}

TEST(H2PastStreams, DropsTheOldestStreams) {
  H2PastStreams past;
  std::int32_t stream = 1;
  for (std::size_t i = 0; i <= H2PastStreams::kEndedMax; ++i, stream += 2) {
    past.opened(stream);
    past.ended(stream, false);
  }
  EXPECT_EQ(past.look(1), Verdict::unknown);
  EXPECT_EQ(past.look(3), Verdict::behind_end);
  EXPECT_EQ(past.look(stream - 2), Verdict::behind_end);

  H2PastStreams gaps;
  for (std::size_t i = 0; i <= H2PastStreams::kGapsMax; ++i) {
    gaps.opened(static_cast<std::int32_t>(3 + 4 * i));
  }
  EXPECT_EQ(gaps.look(1), Verdict::unknown);
  EXPECT_EQ(gaps.look(5), Verdict::never_opened);
}

}  // namespace
}  // namespace sluice::net
