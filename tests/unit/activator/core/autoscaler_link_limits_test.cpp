#include "activator/core/autoscaler_link.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

TEST(AutoscalerLinkLimits, ASnapshotThatNeverEndsKeepsNoMoreThanItsStates) {
  AutoscalerLink link{{"activator-1", "10.0.0.9:8012", "1.0.0"}};
  const AutoscalerLink::Stream stream = *link.add();
  link.connected(stream, {});
  (void)link.next_message(stream);
  (void)link.received(stream, proto::Welcome{1, "autoscaler", "1", {}});
  for (std::size_t i = 0; i < AutoscalerLink::kStatesMax + 10; ++i) {
    const RevisionId id{"default", std::to_string(i)};
    (void)link.received(stream, proto::RevisionState{.revision = id, .version = 1, .desired = 1});
  }
  EXPECT_EQ(link.counts().beyond, 10U);
  EXPECT_EQ(link.listed(), AutoscalerLink::kStatesMax);

  (void)link.received(stream, proto::RevisionGone{{"default", "0"}, 2});

  EXPECT_EQ(link.states(), AutoscalerLink::kStatesMax - 1);
  EXPECT_EQ(link.listed(), AutoscalerLink::kStatesMax - 1);
}

}  // namespace
}  // namespace sluice::activator
