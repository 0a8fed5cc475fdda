#include "activator/core/request_reporter.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'700'000'000s};

// One reporter with one revision, told and asked in sentences. Instants are offsets from kStart.
class Story {
 public:
  Story() : revision_(reporter_.open({.space = "default", .name = "app-00001"})) {}

  std::string in(Duration at) {
    return reporter_.in(revision_, kStart + at) ? show(reporter_.poke(revision_)) : "";
  }

  void out(Duration at) { reporter_.out(revision_, kStart + at); }

  std::string tick(Duration at) {
    std::vector<RevisionStat> stats;
    reporter_.report(kStart + at, stats);
    return stats.empty() ? "nothing" : show(stats.front());
  }

  [[nodiscard]] std::int64_t in_flight() const { return reporter_.in_flight(revision_); }

  RequestReporter& reporter() { return reporter_; }

  [[nodiscard]] RequestReporter::Handle revision() const { return revision_; }

 private:
  static std::string show(const RevisionStat& stat) {
    std::string text = std::to_string(stat.average_concurrent_requests);
    text.resize(text.find('.') + 2);
    return text + "," + std::to_string(static_cast<int>(stat.request_count));
  }

  RequestReporter reporter_;
  RequestReporter::Handle revision_;
};

// The worked examples of activator.md 8.1, in their order.

TEST(RequestReporter, OneRequestIsReportedOnceThenIdleThenNothing) {
  Story story;

  EXPECT_EQ(story.in(0s), "1.0,1");
  story.out(1s);
  EXPECT_EQ(story.tick(1s), "0.0,0");
  EXPECT_EQ(story.tick(2s), "0.0,0");
  EXPECT_EQ(story.tick(3s), "nothing");
}

TEST(RequestReporter, LastingRequestsAreLoadInEveryInterval) {
  Story story;

  EXPECT_EQ(story.in(0s), "1.0,1");
  EXPECT_EQ(story.in(0s), "");
  EXPECT_EQ(story.tick(1s), "1.0,1");
  EXPECT_EQ(story.tick(2s), "2.0,0");
  EXPECT_EQ(story.tick(3s), "2.0,0");
}

TEST(RequestReporter, AveragesOverTheTrueLengthOfTheInterval) {
  Story story;
  (void)story.in(0ms);
  (void)story.in(0ms);
  story.out(1ms);
  story.out(2ms);

  EXPECT_EQ(story.tick(2ms), "0.5,1");
}

TEST(RequestReporter, FirstIntervalBeginsWithTheFirstRequest) {
  Story story;
  (void)story.in(900ms);

  EXPECT_EQ(story.tick(1s), "0.0,0");
  EXPECT_EQ(story.tick(2s), "1.0,0");
}

// autoscaler.md 14, row 102.
TEST(RequestReporter, FirstReportIsClippedAtZeroAndCountsOneLess) {
  Story story;
  (void)story.in(0ms);
  story.out(200ms);
  (void)story.in(200ms);
  story.out(400ms);

  EXPECT_EQ(story.tick(1s), "0.0,1");
}

// activator.md 12, row 62.
TEST(RequestReporter, ThreeAtOnceAreOnePokeThenTheOtherTwo) {
  Story story;

  EXPECT_EQ(story.in(0s), "1.0,1");
  EXPECT_EQ(story.in(0s), "");
  EXPECT_EQ(story.in(0s), "");
  EXPECT_EQ(story.tick(1s), "2.0,2");
}

// Row 63.
TEST(RequestReporter, RequestsOfNoDurationStillCount) {
  Story story;
  std::string pokes;
  for (int i = 0; i < 3; ++i) {
    pokes += story.in(0s);
    story.out(0s);
  }

  EXPECT_EQ(pokes, "1.0,1");
  EXPECT_EQ(story.tick(1s), "0.0,2");
}

// Rows 61 and 64.
TEST(RequestReporter, IdleRevisionPokesAgain) {
  Story story;
  (void)story.in(0s);
  story.out(500ms);
  (void)story.tick(1s);

  EXPECT_EQ(story.tick(2s), "0.0,0");
  EXPECT_EQ(story.tick(3s), "nothing");
  EXPECT_EQ(story.in(3s), "1.0,1");
}

TEST(RequestReporter, AnExpectedRequestPokesWhateverIsInFlight) {
  Story story;
  (void)story.in(0s);
  (void)story.tick(1s);

  story.reporter().expect(story.revision());
  EXPECT_EQ(story.in(1s), "1.0,1");
  EXPECT_EQ(story.in(1s), "");
  EXPECT_EQ(story.tick(2s), "2.0,1");
  EXPECT_EQ(story.tick(3s), "3.0,0");
}

TEST(RequestReporter, EveryReportHasTheAgeOfTheNewestRequest) {
  RequestReporter reporter;
  const auto app = reporter.open({.space = "default", .name = "app-00001"});
  std::vector<RevisionStat> stats;
  (void)reporter.in(app, kStart);
  EXPECT_EQ(reporter.poke(app).newest, 0s);
  (void)reporter.in(app, kStart + 400ms);

  reporter.report(kStart + 1s, stats);
  reporter.report(kStart + 2s, stats);

  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].newest, 600ms);
  EXPECT_EQ(stats[1].newest, 1600ms);
}

// Row 65: the tick at the moment of the request sees no area, yet must not forget the request.
TEST(RequestReporter, RequestInFlightKeepsItsRevisionAlive) {
  Story story;
  (void)story.in(0s);

  EXPECT_EQ(story.tick(0s), "0.0,0");
  EXPECT_EQ(story.in_flight(), 1);
  EXPECT_EQ(story.in(0s), "");
  story.out(1s);
  story.out(1s);
  EXPECT_EQ(story.tick(1s), "2.0,1");
  EXPECT_EQ(story.in_flight(), 0);
}

TEST(RequestReporter, ClosedRevisionIsDroppedWithItsRequests) {
  Story story;
  (void)story.in(0s);

  story.reporter().close(story.revision());
  const auto other = story.reporter().open({.space = "default", .name = "other"});

  ASSERT_EQ(other.index, story.revision().index);
  story.out(1s);
  EXPECT_EQ(story.reporter().in_flight(other), 0);
  EXPECT_EQ(story.tick(1s), "nothing");
}

TEST(RequestReporter, PlaceThatIsTakenAgainIsReportedOnce) {
  Story story;
  (void)story.in(0s);
  story.reporter().close(story.revision());
  const auto other = story.reporter().open({.space = "default", .name = "other"});
  (void)story.reporter().in(other, kStart);
  std::vector<RevisionStat> stats;

  story.reporter().report(kStart + 1s, stats);

  ASSERT_EQ(stats.size(), 1U);
  EXPECT_EQ(stats[0].revision.name, "other");
}

TEST(RequestReporter, OneBatchHoldsEveryRevisionThatIsNotIdle) {
  RequestReporter reporter;
  const auto a = reporter.open({.space = "default", .name = "a"});
  const auto b = reporter.open({.space = "default", .name = "b"});
  const auto c = reporter.open({.space = "default", .name = "c"});
  (void)reporter.in(a, kStart);
  (void)reporter.in(c, kStart);
  std::vector<RevisionStat> stats;

  reporter.report(kStart + 1s, stats);

  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].revision.name, "a");
  EXPECT_EQ(stats[1].revision.name, "c");
  EXPECT_EQ(reporter.in_flight(b), 0);
}

}  // namespace
}  // namespace sluice::activator
