#include "autoscaler/core/decision/scrape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace sluice::autoscaler {
namespace {

using std::chrono::seconds;

std::vector<std::string> addresses(const std::string& prefix, int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(prefix + std::to_string(i));
  return list;
}

std::string shown(const ScrapeResult& result) {
  if (!result) return std::string{describe(result.error())};
  if (!result->has_value()) return "nothing";
  return "concurrency " + std::to_string(std::lround((*result)->average_concurrency));
}

// What a pod does when asked: a concurrency, or an error.
using Pods = std::function<Result<double, ScrapeError>(const std::string& address)>;

struct Round {
  std::string result;
  std::vector<std::string> asked;
  std::size_t most_at_a_time = 0;
};

// Asks as many at a time as the round allows and answers them in the order they were asked.
Round play(ScrapeCandidates candidates, const Pods& pods, std::uint64_t seed = 1) {
  std::mt19937_64 random{seed};
  DirectScrape scrape{std::move(candidates), random};
  Round round;
  std::vector<std::string> open;
  while (true) {
    while (auto address = scrape.next()) open.push_back(*address);
    if (open.empty()) break;
    EXPECT_FALSE(scrape.finished());
    round.most_at_a_time = std::max(round.most_at_a_time, open.size());
    const std::string address = open.front();
    open.erase(open.begin());
    round.asked.push_back(address);
    const auto answer = pods(address);
    if (answer) {
      scrape.succeeded({.average_concurrency = *answer});
    } else {
      scrape.failed(answer.error());
    }
  }
  EXPECT_TRUE(scrape.finished());
  round.result = shown(scrape.result());
  return round;
}

Result<double, ScrapeError> one(const std::string&) {
  return 1.0;
}

// Row 90.
TEST(DirectScrape, NoPodsGiveNoErrorAndRecordNothing) {
  const Round round = play({}, one);

  EXPECT_EQ(round.result, "nothing");
  EXPECT_TRUE(round.asked.empty());
}

// Row 86.
TEST(DirectScrape, OfTenPodsSevenAreScraped) {
  const Round round = play({.old = addresses("old", 10), .young = {}}, one);

  EXPECT_EQ(round.asked.size(), 7U);
  EXPECT_EQ(round.most_at_a_time, 7U);
  EXPECT_EQ(round.result, "concurrency 10") << "the sample stands for all ten";
}

TEST(DirectScrape, AllZerosAreRecordedToo) {
  const Round round =
      play({.old = addresses("old", 3), .young = {}}, [](const std::string&) { return 0.0; });

  EXPECT_EQ(round.result, "concurrency 0");
}

TEST(DirectScrape, FailedPodIsReplacedByTheNext) {
  const Round round = play({.old = addresses("old", 7), .young = addresses("young", 3)},
                           [](const std::string& address) -> Result<double, ScrapeError> {
                             if (address == "old2" || address == "old5")
                               return ScrapeError::unreachable;
                             return 1.0;
                           });

  EXPECT_EQ(round.result, "concurrency 10");
  EXPECT_EQ(round.asked.size(), 9U);
  EXPECT_EQ(round.asked[7], "young0");
  EXPECT_EQ(round.asked[8], "young1") << "the young are in their order: only the old are shuffled";
}

// Row 87.
TEST(DirectScrape, ThreeOfFourNeededAnswersRecordNothing) {
  const Round round = play({.old = addresses("old", 4), .young = {}},
                           [](const std::string& address) -> Result<double, ScrapeError> {
                             if (address == "old1") return ScrapeError::mesh_status;
                             return 1.0;
                           });

  EXPECT_EQ(round.result, "pods exhausted");
}

TEST(DirectScrape, OnlyFailuresOfAMeshMakeDirectScrapingUnavailable) {
  const ScrapeCandidates four{.old = addresses("old", 4), .young = {}};

  EXPECT_EQ(play(four, [](const std::string&) { return ScrapeError::mesh_status; }).result,
            "direct not available");
  EXPECT_EQ(play(four,
                 [](const std::string& address) {
                   return address == "old3" ? ScrapeError::bad_status : ScrapeError::mesh_status;
                 })
                .result,
            "pods exhausted");
}

TEST(DirectScrape, EveryPodIsScrapedAtMostOnce) {
  const Round round = play({.old = addresses("old", 20), .young = addresses("young", 20)},
                           [](const std::string&) { return ScrapeError::unreachable; });

  EXPECT_EQ(std::set<std::string>(round.asked.begin(), round.asked.end()).size(), 40U);
  EXPECT_EQ(round.asked.size(), 40U);
}

TEST(DirectScrape, WithEnoughOldPodsSomeAreChosenAtRandom) {
  const ScrapeCandidates many{.old = addresses("old", 30), .young = addresses("young", 5)};

  const auto first = play(many, one, 1).asked;

  EXPECT_TRUE(std::all_of(first.begin(), first.end(),
                          [](const std::string& address) { return address.starts_with("old"); }));
  EXPECT_EQ(play(many, one, 1).asked, first) << "same seed, same choice";
  EXPECT_NE(play(many, one, 2).asked, first);
}

TEST(DirectScrape, WithTooFewOldPodsAllAreScrapedAndYoungOnesAreChosenAtRandom) {
  const ScrapeCandidates few{.old = addresses("old", 3), .young = addresses("young", 30)};

  const auto first = play(few, one, 1).asked;
  const auto second = play(few, one, 2).asked;

  EXPECT_EQ(std::vector<std::string>(first.begin(), first.begin() + 3), addresses("old", 3));
  EXPECT_EQ(std::vector<std::string>(second.begin(), second.begin() + 3), addresses("old", 3));
  EXPECT_NE(first, second);
}

std::string accepted(int status, std::string_view type, std::string_view body = "x") {
  const auto bytes = accept_answer({.status = status, .content_type = type, .body = body});
  return bytes ? std::string{*bytes} : std::string{describe(bytes.error())};
}

TEST(ScrapeAnswer, IsAcceptedWithA2xxStatusAndTheExactType) {
  EXPECT_EQ(accepted(200, "application/protobuf"), "x");
  EXPECT_EQ(accepted(299, "application/protobuf"), "x");
  EXPECT_EQ(accepted(300, "application/protobuf"), "status is not 2xx");
  EXPECT_EQ(accepted(199, "application/protobuf"), "status is not 2xx");
  EXPECT_EQ(accepted(200, "application/protobuf; charset=utf-8"),
            "content type is not application/protobuf");
  EXPECT_EQ(accepted(200, ""), "content type is not application/protobuf");
}

TEST(ScrapeAnswer, IndicatesAMeshWith502And503Only) {
  EXPECT_EQ(accepted(502, "text/html"), "status 502 or 503");
  EXPECT_EQ(accepted(503, "text/html"), "status 502 or 503");
  EXPECT_EQ(accepted(504, "text/html"), "status is not 2xx");
}

TEST(ScrapeAnswer, IsReadUpTo336Bytes) {
  EXPECT_EQ(accepted(200, kStatContentType, std::string(336, 'x')).size(), 336U);
  EXPECT_EQ(accepted(200, kStatContentType, std::string(5000, 'x')).size(), 336U);
}

}  // namespace
}  // namespace sluice::autoscaler
