#include "load/core/trace_arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

TraceCell cell_of(Duration at, Duration length, std::uint64_t count, std::string path = {}) {
  TraceCell cell;
  cell.at = at;
  cell.length = length;
  cell.count = count;
  cell.path = std::move(path);
  return cell;
}

std::vector<Duration> times_of(const std::vector<TraceCell>& cells, std::uint64_t seed) {
  TraceArrivals arrivals{seed};
  std::vector<Duration> times;
  const auto drain = [&] {
    while (const auto arrival = arrivals.next()) times.push_back(arrival->at);
  };
  for (const TraceCell& cell : cells) {
    arrivals.add(cell);
    drain();
  }
  arrivals.end();
  drain();
  return times;
}

TEST(CellTimes, FillTheCellInOrder) {
  CellTimes times{cell_of(60s, 60s, 10'000), 3};
  Duration before{0};
  Duration sum{0};
  while (times.left() > 0) {
    const Duration at = times.take();
    EXPECT_GE(at, std::max(before, Duration{60s}));
    EXPECT_LT(at, 120s);
    before = at;
    sum += at;
  }

  // The mean of 10,000 uniform times: four standard deviations of it are 0.7 s.
  EXPECT_NEAR(to_seconds(sum) / 10'000, 90, 0.7);
}

TEST(CellTimes, AreSpacedAsIndependentRequestsAre) {
  constexpr int kCells = 20'000;
  int early = 0;
  int both_early = 0;
  for (int i = 0; i < kCells; ++i) {
    CellTimes times{cell_of(0s, 1s, 2), static_cast<std::uint64_t>(i) * 7919};
    const bool first = times.take() < 500ms;
    const bool second = times.take() < 500ms;
    early += (first ? 1 : 0) + (second ? 1 : 0);
    both_early += second ? 1 : 0;
  }

  // Of two independent requests each is early in a half of the cells, both in a quarter.
  EXPECT_NEAR(early, kCells, 4 * std::sqrt(kCells * 0.5));
  EXPECT_NEAR(both_early, kCells * 0.25, 4 * std::sqrt(kCells * 0.25 * 0.75));
}

TEST(TraceArrivals, AreOneSequenceForOneSeed) {
  const std::vector<TraceCell> cells{cell_of(0s, 1s, 50), cell_of(500ms, 1s, 50),
                                     cell_of(2s, 0s, 3), cell_of(30s, 60s, 100)};

  const auto first = times_of(cells, 1);

  EXPECT_EQ(first.size(), 203U);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end()));
  EXPECT_EQ(first, times_of(cells, 1));
  EXPECT_NE(first, times_of(cells, 2));
}

TEST(TraceArrivals, KeepExactTimes) {
  EXPECT_EQ(times_of({cell_of(1s, 0s, 1), cell_of(3s, 0s, 2)}, 1),
            (std::vector<Duration>{1s, 3s, 3s}));
}

TEST(TraceArrivals, PutCellsOfTenSecondsInOrder) {
  EXPECT_EQ(times_of({cell_of(20s, 0s, 1), cell_of(10s, 0s, 1), cell_of(15s, 0s, 1)}, 1),
            (std::vector<Duration>{10s, 15s, 20s}));
}

TEST(TraceArrivals, WaitUntilNoCellCanComeBefore) {
  TraceArrivals arrivals{1};
  arrivals.add(cell_of(5s, 0s, 1, "/a"));
  arrivals.add(cell_of(15s - 1ns, 0s, 1, "/b"));
  EXPECT_FALSE(arrivals.next());

  arrivals.add(cell_of(15s, 0s, 1, "/c"));

  const auto first = arrivals.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->cell->path, "/a");
  EXPECT_FALSE(arrivals.next());
  arrivals.end();
  EXPECT_EQ(arrivals.next()->cell->path, "/b");
  EXPECT_EQ(arrivals.next()->cell->path, "/c");
  EXPECT_FALSE(arrivals.next());
}

TEST(TraceArrivals, PutCellsOfAnHourInOrderWhereTimesGoBackSoFar) {
  TraceArrivals arrivals{1};
  arrivals.keep_order(1h);
  arrivals.add(cell_of(50min, 0s, 1));
  arrivals.add(cell_of(10min, 0s, 1));
  EXPECT_FALSE(arrivals.next());
  arrivals.add(cell_of(70min, 0s, 1));

  EXPECT_EQ(arrivals.next()->at, 10min);
  EXPECT_FALSE(arrivals.next());
  arrivals.end();
  EXPECT_EQ(arrivals.next()->at, 50min);
}

TEST(TraceArrivals, OfOneTimeKeepTheOrderOfTheTrace) {
  TraceArrivals arrivals{1};
  for (const char* path : {"/a", "/b", "/c", "/d"}) arrivals.add(cell_of(1s, 0s, 1, path));
  arrivals.end();

  std::string order;
  while (const auto arrival = arrivals.next()) order += arrival->cell->path;

  EXPECT_EQ(order, "/a/b/c/d");
}

TEST(TraceArrivals, KeepABoundedNumberOfCells) {
  TraceArrivals arrivals{1};
  for (std::size_t i = 0; i < TraceArrivals::kCellsMax; ++i) arrivals.add(cell_of(8s, 0s, 1));
  EXPECT_FALSE(arrivals.next());
  arrivals.add(cell_of(8s, 0s, 1));
  EXPECT_EQ(arrivals.next()->at, 8s);

  arrivals.add(cell_of(2s, 0s, 1, "/late"));

  const auto late = arrivals.next();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->cell->path, "/late");
  EXPECT_EQ(late->at, 8s) << "moved to the arrival before it";
}

TEST(TraceArrivals, HaveTheRecordedDurationOrOneOfTheShares) {
  TraceCell recorded = cell_of(0s, 0s, 1);
  recorded.duration = 7ms;
  TraceCell shares = cell_of(1s, 1s, 4000);
  shares.service_times.add(0, 0ms);
  shares.service_times.add(1, 100ms);
  TraceArrivals arrivals{1};
  arrivals.add(recorded);
  arrivals.add(shares);
  arrivals.add(cell_of(3s, 0s, 1));
  arrivals.end();

  EXPECT_EQ(arrivals.next()->duration, 7ms);
  Duration sum{0};
  for (int i = 0; i < 4000; ++i) {
    const auto arrival = arrivals.next();
    ASSERT_TRUE(arrival && arrival->duration);
    EXPECT_LE(*arrival->duration, 100ms);
    sum += *arrival->duration;
  }
  EXPECT_NEAR(to_seconds(sum) / 4000, 0.050, 4 * 0.0289 / std::sqrt(4000.0));
  EXPECT_FALSE(arrivals.next()->duration);
}

TEST(TraceArrivals, StayTheSameAcrossMachinesAndReleases) {
  const auto times = times_of({cell_of(0s, 60s, 3), cell_of(60s, 1s, 2)}, 7);

  // Recorded once. A change here makes every seed of every replay mean something else.
  EXPECT_EQ(times, (std::vector<Duration>{7728219950ns, 12054469120ns, 59121096219ns, 60685151781ns,
                                          60887795352ns}));
}

}  // namespace
}  // namespace sluice::loadgen
