#include "autoscaler/core/view/fleet_rows.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::autoscaler {
namespace {

FleetRow row_of(const std::string& name, std::string_view state = "asleep", double rps = 0) {
  FleetRow made;
  made.id = {"default", name + "-00001"};
  made.service = name;
  made.state = state;
  made.rps = rps;
  made.ready = state == "awake" ? 2 : 0;
  made.want = made.ready;
  return made;
}

std::string names_of(const std::vector<const FleetRows::Kept*>& rows) {
  std::string text;
  for (const FleetRows::Kept* kept : rows) text += kept->row.service + " ";
  return text;
}

std::string names_of(const FleetRows& rows, const RowQuery& query, std::size_t begin = 0,
                     std::size_t limit = 100) {
  std::string text;
  for (const RevisionId& id : rows.page(query, begin, limit).rows) {
    text += rows.find(id)->row.service + " ";
  }
  return text;
}

TEST(FleetRows, ListsWhatHasChangedSinceAVersion) {
  FleetRows rows;
  for (const char* name : {"a", "b", "c"}) rows.put(row_of(name));
  const std::uint64_t seen = rows.version();
  EXPECT_EQ(names_of(rows.changed_since(0, 9)), "a b c ");
  EXPECT_EQ(names_of(rows.changed_since(seen, 9)), "");

  rows.put(row_of("b", "awake", 5));
  rows.put(row_of("a"));
  EXPECT_EQ(names_of(rows.changed_since(seen, 9)), "b ");
  rows.put(row_of("c", "starting"));
  rows.put(row_of("b", "awake", 6));
  EXPECT_EQ(names_of(rows.changed_since(seen, 9)), "c b ");
  EXPECT_EQ(names_of(rows.changed_since(seen, 1)), "c ");
}

TEST(FleetRows, AFigureThatIsNotKnownDoesNotChangeByItself) {
  FleetRows rows;
  FleetRow one = row_of("a");
  one.queued = std::nan("");
  rows.put(one);
  const std::uint64_t seen = rows.version();
  rows.put(one);
  EXPECT_EQ(rows.version(), seen);
  one.queued = 0;
  rows.put(one);
  EXPECT_GT(rows.version(), seen);
}

TEST(FleetRows, CountsOverAllServicesWhateverTheirOrder) {
  FleetRows rows;
  rows.put(row_of("a", "awake", 2.5));
  rows.put(row_of("b", "awake", 1.5));
  FleetRow failing = row_of("c", "failing");
  failing.trouble = "failing";
  failing.want = 1;
  rows.put(failing);
  EXPECT_EQ(rows.tiles().services, 3);
  EXPECT_EQ(rows.tiles().states[2], 2);
  EXPECT_EQ(rows.tiles().states[4], 1);
  EXPECT_EQ(rows.tiles().troubles[0], 1);
  EXPECT_EQ(rows.troubled().size(), 1U);
  EXPECT_EQ(rows.tiles().ready, 4);
  EXPECT_EQ(rows.tiles().want, 5);
  EXPECT_EQ(rows.tiles().rps, 4);

  rows.put(row_of("c"));
  rows.put(row_of("a"));
  rows.drop({"default", "b-00001"});
  EXPECT_EQ(rows.tiles().services, 2);
  EXPECT_EQ(rows.tiles().states[0], 2);
  EXPECT_EQ(rows.tiles().ready, 0);
  EXPECT_EQ(rows.tiles().rps, 0);
  EXPECT_TRUE(rows.troubled().empty());
}

TEST(FleetRows, ListsRemovalsUpToABound) {
  FleetRows rows;
  rows.put(row_of("a"));
  const std::uint64_t seen = rows.version();
  rows.drop({"default", "a-00001"});
  rows.drop({"default", "never-there"});
  ASSERT_TRUE(rows.gone_since(seen));
  ASSERT_EQ(rows.gone_since(seen)->size(), 1U);
  EXPECT_EQ(rows.gone_since(seen)->front().service, "a");
  EXPECT_TRUE(rows.gone_since(rows.version())->empty());
  for (std::size_t i = 0; i < FleetRows::kGoneMax; ++i) {
    rows.put(row_of("b"));
    rows.drop({"default", "b-00001"});
  }
  EXPECT_FALSE(rows.gone_since(seen));
  EXPECT_TRUE(rows.gone_since(rows.version()));
}

TEST(FleetRows, APageIsFilteredAndOrderedAsAsked) {
  FleetRows rows;
  rows.put(row_of("shop", "awake", 10));
  rows.put(row_of("pay", "awake", 30));
  rows.put(row_of("Shopping", "asleep"));
  FleetRow panic = row_of("api", "awake", 20);
  panic.trouble = "panic";
  rows.put(panic);
  FleetRow failing = row_of("zoo", "failing");
  failing.trouble = "failing";
  rows.put(failing);

  EXPECT_EQ(names_of(rows, {}), "Shopping api pay shop zoo ");
  EXPECT_EQ(names_of(rows, {.text = "SHOP"}), "Shopping shop ");
  EXPECT_EQ(names_of(rows, {.text = "defau"}), "Shopping api pay shop zoo ");
  EXPECT_EQ(names_of(rows, {.state = "awake"}), "api pay shop ");
  EXPECT_EQ(names_of(rows, {.state = "trouble"}), "api zoo ");
  EXPECT_EQ(names_of(rows, {.sort = "trouble"}), "zoo api pay shop Shopping ");
  EXPECT_EQ(names_of(rows, {.sort = "rps"}), "pay api shop Shopping zoo ");
  EXPECT_EQ(names_of(rows, {.sort = "rps"}, 1, 2), "api shop ");
  EXPECT_EQ(names_of(rows, {}, 4, 9), "zoo ");
  EXPECT_EQ(names_of(rows, {}, 9, 9), "");
  EXPECT_EQ(rows.page({.state = "awake"}, 0, 1).matching, 3U);
}

TEST(FleetRows, AQueryWithOtherWordsIsNotKnown) {
  for (const char* state : {"", "asleep", "failing", "trouble"}) {
    EXPECT_TRUE(RowQuery{.state = state}.knows_state()) << state;
  }
  for (const char* sort : {"name", "trouble", "rps", "p99", "queued", "ready"}) {
    EXPECT_TRUE(RowQuery{.sort = sort}.knows_sort()) << sort;
  }
  EXPECT_FALSE(RowQuery{.state = "awak"}.knows_state());
  EXPECT_FALSE(RowQuery{.sort = "size"}.knows_sort());
}

}  // namespace
}  // namespace sluice::autoscaler
