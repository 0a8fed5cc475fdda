#include "autoscaler/core/view/fleet_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

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
  RowSearch search{rows, query, begin, begin + limit};
  while (search.find()) {
  }
  std::string text;
  for (const RevisionId& id : search.page()) text += rows.find(id)->row.service + " ";
  return text;
}

std::string changed(const FleetRows& rows, std::uint64_t version, std::size_t most) {
  return names_of(rows.changes_since(version, most)->rows);
}

TEST(FleetRows, ListsWhatHasChangedSinceAVersion) {
  FleetRows rows;
  for (const char* name : {"a", "b", "c"}) rows.put(row_of(name));
  const std::uint64_t seen = rows.version();
  EXPECT_EQ(changed(rows, 0, 9), "a b c ");
  EXPECT_EQ(changed(rows, seen, 9), "");

  rows.put(row_of("b", "awake", 5));
  rows.put(row_of("a"));
  EXPECT_EQ(changed(rows, seen, 9), "b ");
  rows.put(row_of("c", "starting"));
  rows.put(row_of("b", "awake", 6));
  EXPECT_EQ(changed(rows, seen, 9), "c b ");
  EXPECT_EQ(changed(rows, seen, 1), "c ");
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
}

TEST(FleetRows, ListsRemovalsUpToABound) {
  FleetRows rows;
  rows.put(row_of("a"));
  const std::uint64_t seen = rows.version();
  rows.drop({"default", "a-00001"});
  rows.drop({"default", "never-there"});
  ASSERT_TRUE(rows.changes_since(seen, 9));
  ASSERT_EQ(rows.changes_since(seen, 9)->gone.size(), 1U);
  EXPECT_EQ(rows.changes_since(seen, 9)->gone.front()->service, "a");
  EXPECT_TRUE(rows.changes_since(rows.version(), 9)->gone.empty());
  for (std::size_t i = 0; i < FleetRows::kGoneMax; ++i) {
    rows.put(row_of("b"));
    rows.drop({"default", "b-00001"});
  }
  EXPECT_FALSE(rows.changes_since(seen, 9));
  EXPECT_TRUE(rows.changes_since(rows.version(), 9));
}

// Goal: who takes a few at a time ends with all of them, in their order, whatever happens between.
TEST(FleetRows, ChangesTakenAFewAtATimeAreAllOfThem) {
  std::mt19937 random{7};
  FleetRows rows;
  std::map<std::string, double> told;  // the rate of each service
  std::uint64_t seen = rows.version();
  const auto take = [&](std::size_t most) {
    const auto changes = rows.changes_since(seen, most);
    EXPECT_LE(changes->rows.size(), most);
    EXPECT_LE(changes->gone.size(), most);
    for (const FleetRows::Gone* gone : changes->gone) {
      if (rows.find(gone->id) == nullptr) told.erase(gone->service);
    }
    for (const FleetRows::Kept* kept : changes->rows) {
      EXPECT_LE(kept->version, changes->version) << "it would be told again";
      told[kept->row.service] = kept->row.rps;
    }
    EXPECT_TRUE(changes->version > seen || seen == rows.version());
    seen = changes->version;
  };
  for (int step = 0; step < 3'000; ++step) {
    const std::string name = "s" + std::to_string(random() % 60);
    if (random() % 3 == 0) {
      rows.drop({"default", name + "-00001"});
    } else {
      rows.put(row_of(name, "awake", static_cast<double>(random() % 100)));
    }
    if (random() % 5 == 0) take(1 + random() % 6);
  }
  while (seen < rows.version()) take(4);
  std::map<std::string, double> there;
  for (const FleetRows::Kept* kept : rows.after({}, 1'000))
    there[kept->row.service] = kept->row.rps;
  EXPECT_EQ(told, there);
}

TEST(FleetRows, ServicesInPanicAreListedAloneAmongThoseInTrouble) {
  FleetRows rows;
  FleetRow panic = row_of("a", "awake");
  panic.trouble = "panic";
  panic.panic_since = TimePoint{};
  rows.put(panic);
  FleetRow failing = row_of("b", "failing");
  failing.trouble = "failing";
  rows.put(failing);
  EXPECT_EQ(rows.panicking(), (std::set<RevisionId>{{"default", "a-00001"}}));
  rows.put(row_of("a", "awake"));
  EXPECT_TRUE(rows.panicking().empty());
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
}

// Goal: every page of every order is what sorting all of them gives.
TEST(FleetRows, APageThatIsFoundInManyCallsIsThatOfAllRowsSorted) {
  std::mt19937 random{11};
  FleetRows rows;
  std::vector<FleetRow> all;
  for (int i = 0; i < 730; ++i) {
    all.push_back(
        row_of("s" + std::to_string(random()), "awake", std::floor(std::sqrt(random() % 50))));
    rows.put(all.back());
  }
  std::sort(all.begin(), all.end(),
            [](const FleetRow& left, const FleetRow& right) { return left.id < right.id; });
  for (const char* sort : {"name", "rps", "ready"}) {
    const RowQuery query{.text = "1", .sort = sort};
    std::vector<FleetRow> matching;
    std::copy_if(all.begin(), all.end(), std::back_inserter(matching),
                 [&query](const FleetRow& row) { return query.takes(row); });
    std::stable_sort(matching.begin(), matching.end(),
                     [&query](const FleetRow& left, const FleetRow& right) {
                       return query.key_of(left) < query.key_of(right);
                     });
    for (const std::size_t begin : {std::size_t{0}, std::size_t{90}, matching.size() - 3}) {
      std::string expected;
      for (std::size_t i = begin; i < std::min(matching.size(), begin + 70); ++i) {
        expected += matching[i].service + " ";
      }
      EXPECT_EQ(names_of(rows, query, begin, 70), expected) << sort << " from " << begin;
    }
  }
}

TEST(FleetRows, ASearchTakesRowsThatComeAheadOfItAndNoneThatHaveGone) {
  FleetRows rows;
  for (int i = 1'000; i < 1'500; ++i) rows.put(row_of("s" + std::to_string(i), "awake", i));
  RowSearch search{rows, {.sort = "rps"}, 0, 3};
  ASSERT_TRUE(search.find());
  rows.drop({"default", "s1099-00001"});       // where it is
  rows.drop({"default", "s1499-00001"});       // ahead of it
  rows.put(row_of("s1050x", "awake", 9'000));  // behind it
  rows.put(row_of("s1450x", "awake", 8'000));
  while (search.find()) {
  }
  ASSERT_EQ(search.page().size(), 3U);
  EXPECT_EQ(search.page()[0].name, "s1450x-00001");
  EXPECT_EQ(search.page()[1].name, "s1498-00001");
  EXPECT_EQ(search.matching(), 500U);
}

TEST(FleetRows, AnotherPageFollowsWhereMoreRowsMatch) {
  FleetRows rows;
  for (int i = 100; i < 400; ++i) rows.put(row_of("s" + std::to_string(i)));
  for (const char* sort : {"name", "rps"}) {
    for (const std::size_t end : {200U, 299U, 300U}) {
      RowSearch search{rows, {.sort = sort}, end - 50, end};
      while (search.find()) {
      }
      EXPECT_EQ(search.page().size(), 50U) << sort;
      EXPECT_EQ(search.matching() > end, end < 300) << sort << " to " << end;
    }
  }
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
