#include "autoscaler/core/share/stat_forwarding.h"

#include "autoscaler/core/share/buckets.h"
#include "common/ring/hash_ring.h"
#include "tests/unit/autoscaler/core/fixtures.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

StatToForward stat_of(RevisionId revision, double concurrency = 1) {
  return {
      .revision = std::move(revision), .stat = {.average_concurrency = concurrency}, .at = kStart};
}

StatForwarding of_buckets(std::int32_t count) {
  return StatForwarding{bucket_names(count)};
}

// "forward to a b"
std::string routed(const StatForwarding& forwarding, const RevisionId& revision) {
  const auto route = forwarding.route(revision);
  if (route.what == StatRoute::record) return "record";
  if (route.what == StatRoute::wait) return "wait";
  std::string text = "forward to";
  for (const std::string& address : route.addresses) text += " " + address;
  return text;
}

TEST(StatForwarding, RecordsStatsOfItsOwnBuckets) {
  StatForwarding forwarding = of_buckets(1);

  EXPECT_TRUE(forwarding.set_holder("autoscaler-bucket-00-of-01", {.ours = true, .addresses = {}}));

  EXPECT_EQ(routed(forwarding, kApp), "record");
}

TEST(StatForwarding, ForwardsToAnotherHolderInOrder) {
  StatForwarding forwarding = of_buckets(1);
  ASSERT_TRUE(forwarding.set_holder("autoscaler-bucket-00-of-01", {.addresses = {"ip", "name"}}));

  EXPECT_EQ(routed(forwarding, kApp), "forward to ip name");
}

TEST(StatForwarding, BucketOfAKeyIsChosenByItsHash) {
  StatForwarding forwarding = of_buckets(5);

  EXPECT_EQ(forwarding.route(kApp).bucket,
            ring::bucket_owner(bucket_names(5), "default/app-00001"));
}

TEST(StatForwarding, ReportsAChangeOfHolder) {
  StatForwarding forwarding = of_buckets(1);
  const std::string bucket = "autoscaler-bucket-00-of-01";

  EXPECT_TRUE(forwarding.set_holder(bucket, {.addresses = {"a"}}));
  EXPECT_FALSE(forwarding.set_holder(bucket, {.addresses = {"a"}})) << "a lease was renewed";
  EXPECT_TRUE(forwarding.set_holder(bucket, {.addresses = {"b"}}));
  EXPECT_TRUE(forwarding.set_holder(bucket, {}));
  EXPECT_EQ(routed(forwarding, kApp), "wait");
  EXPECT_FALSE(forwarding.set_holder("another-lease", {.ours = true, .addresses = {}}));
}

// Row 98.
TEST(StatForwarding, StatWithoutHolderIsTriedAgainEveryHalfSecond) {
  StatForwarding forwarding = of_buckets(1);
  EXPECT_EQ(routed(forwarding, kApp), "wait");
  EXPECT_EQ(forwarding.next_due(), std::nullopt);

  forwarding.postpone(stat_of(kApp, 7), kStart);

  EXPECT_EQ(forwarding.next_due(), kStart + milliseconds{500});
  EXPECT_TRUE(forwarding.due(kStart + milliseconds{499}).empty());
  const auto stats = forwarding.due(kStart + milliseconds{500});
  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].revision, kApp);
  EXPECT_EQ(stats[0].stat.average_concurrency, 7);
  EXPECT_EQ(stats[0].at, kStart) << "the stamp stays the same";
  EXPECT_EQ(forwarding.waiting(), 0U);
}

// Row 98, where the reference retries without end.
TEST(StatForwarding, StatIsDroppedAfterThirtyRetries) {
  StatForwarding forwarding = of_buckets(1);
  TimePoint now = kStart;
  forwarding.postpone(stat_of(kApp), now);

  int retries = 0;
  while (forwarding.waiting() > 0) {
    now = *forwarding.next_due();
    for (StatToForward& stat : forwarding.due(now)) {
      ++retries;
      forwarding.postpone(std::move(stat), now);
    }
  }

  EXPECT_EQ(retries, 30);
  EXPECT_EQ(now - kStart, seconds{15});
  EXPECT_EQ(forwarding.dropped(), 1U);
}

TEST(StatForwarding, FullBacklogDropsAndCountsTheOldest) {
  StatForwarding forwarding = of_buckets(1);

  for (int i = 0; i < 1003; ++i) forwarding.postpone(stat_of(kApp, i), kStart);

  EXPECT_EQ(forwarding.waiting(), 1000U);
  EXPECT_EQ(forwarding.dropped(), 3U);
  EXPECT_EQ(forwarding.due(kStart + seconds{1}).front().stat.average_concurrency, 3);
}

TEST(StatForwarding, NameThatNoRevisionCanHaveIsDroppedAndCounted) {
  StatForwarding forwarding = of_buckets(1);

  forwarding.postpone(stat_of({.space = "default", .name = std::string(254, 'a')}), kStart);
  forwarding.postpone(stat_of({.space = std::string(254, 'a'), .name = "app"}), kStart);

  EXPECT_EQ(forwarding.waiting(), 0U);
  EXPECT_EQ(forwarding.dropped(), 2U);
}

TEST(StatForwarding, ClockThatStepsBackDelaysNothing) {
  StatForwarding forwarding = of_buckets(1);
  forwarding.postpone(stat_of(kApp), kStart);

  EXPECT_EQ(forwarding.due(kStart - seconds{3600}).size(), 1U);
}

}  // namespace
}  // namespace sluice::autoscaler
