#include "platform/kubernetes/core/ownership_index.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using Ids = std::set<RevisionId>;
using Names = std::set<kube::ObjectName>;

TEST(OwnershipIndex, FindsTheObjectsThatNameAScalerUntilTheyDoNot) {
  OwnershipIndex index;
  EXPECT_EQ(index.set({"shop", "a"}, "web"), (Ids{{"shop", "web"}}));
  EXPECT_EQ(index.set({"shop", "b"}, "web"), (Ids{{"shop", "web"}}));
  EXPECT_EQ(index.of({"shop", "web"}), (Names{{"shop", "a"}, {"shop", "b"}}));
  EXPECT_TRUE(index.of({"other", "web"}).empty());

  EXPECT_EQ(index.set({"shop", "a"}, "next"), (Ids{{"shop", "next"}, {"shop", "web"}}));
  EXPECT_EQ(index.set({"shop", "b"}, ""), (Ids{{"shop", "web"}}));

  EXPECT_TRUE(index.of({"shop", "web"}).empty());
  EXPECT_EQ(index.of({"shop", "next"}), (Names{{"shop", "a"}}));
  EXPECT_TRUE(index.set({"shop", "c"}, "").empty());
}

}  // namespace
}  // namespace sluice::autoscaler
