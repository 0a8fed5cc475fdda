#include "memory-pressure/core/kin.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sluice::node_agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kKnownAfter = seconds{20};

/// One typical container of `kind` with `size` MiB for `time`.
void watch(KinBook& book, std::string_view kind, std::int64_t size, Duration time) {
  for (Duration at{}; at < time; at += milliseconds{100}) {
    book.take({{.kind = kind, .bytes = size * kMiB, .typical = true}}, milliseconds{100});
  }
}

double mib(double bytes) {
  return bytes / static_cast<double>(kMiB);
}

TEST(Kin, IsKnownOnceAllOfItWereWatchedLongEnoughTogether) {
  KinBook book{kKnownAfter};
  watch(book, "a", 10, seconds{19});
  EXPECT_EQ(book.known("a"), nullptr);
  EXPECT_EQ(book.known("b"), nullptr);

  const KinBook::Sample one{.kind = "a", .bytes = 10 * kMiB, .typical = true};
  book.take({one, one}, milliseconds{500});

  ASSERT_NE(book.known("a"), nullptr);
  EXPECT_NEAR(mib(book.known("a")->mean), 10, 0.01);
}

TEST(Kin, MeanAndVarianceAreThoseOfAnOscillation) {
  KinBook book{kKnownAfter};
  for (int cycle = 0; cycle < 100; ++cycle) {
    watch(book, "a", 30, seconds{1});
    watch(book, "a", 50, seconds{1});
  }
  EXPECT_NEAR(mib(book.known("a")->mean), 40, 0.5);
  EXPECT_NEAR(mib(std::sqrt(book.known("a")->variance)), 10, 0.5);
}

// Method: a twin that weighs each sample by hand.
TEST(Kin, EachSecondWeighsTheSameUntilTheWindowIsFull) {
  std::mt19937_64 random{7};
  std::uniform_int_distribution<std::int64_t> sizes{0, 64};
  KinBook book{kKnownAfter};
  double sum = 0;
  double squares = 0;
  double total = 0;
  for (int i = 0; i < 500; ++i) {
    const std::int64_t size = sizes(random);
    const auto step = milliseconds{100 * (1 + i % 7)};
    book.take({{.kind = "a", .bytes = size * kMiB, .typical = true}}, step);
    sum += static_cast<double>(size) * to_seconds(step);
    squares += static_cast<double>(size * size) * to_seconds(step);
    total += to_seconds(step);
  }
  const double mean = sum / total;
  EXPECT_NEAR(mib(book.known("a")->mean), mean, 1e-6);
  EXPECT_NEAR(mib(mib(book.known("a")->variance)), squares / total - mean * mean, 1e-6);
}

TEST(Kin, WhatIsLongerAgoThanTheWindowFades) {
  KinBook book{kKnownAfter};
  watch(book, "a", 10, seconds{1200});
  watch(book, "a", 30, seconds{600});
  EXPECT_NEAR(mib(book.known("a")->mean), 30 - 20 * std::exp(-1), 0.1);
}

TEST(Kin, OneThatIsHeldOrOnItsFirstWayUpCountsForThePeakOnly) {
  KinBook book{kKnownAfter};
  watch(book, "a", 40, seconds{20});
  book.take({{.kind = "a", .bytes = 60 * kMiB, .typical = false}}, seconds{5});
  EXPECT_NEAR(mib(book.known("a")->mean), 40, 0.01);
  EXPECT_NEAR(mib(book.known("a")->peak), 60, 0.01);
  EXPECT_NEAR(to_seconds(book.known("a")->watched), 20, 0.01);
}

TEST(Kin, PeakIsHalvedTowardsPresentUseInTenMinutesHoweverManyThereAre) {
  KinBook book{kKnownAfter};
  watch(book, "a", 100, seconds{20});
  const KinBook::Sample one{.kind = "a", .bytes = 20 * kMiB, .typical = true};
  for (int i = 0; i < 600; ++i) book.take({one, one, one}, seconds{1});
  EXPECT_NEAR(mib(book.known("a")->peak), 60, 0.5);
}

TEST(Kin, OnesAreAlikeInImageNameAndLimitOfAJobInItsTemplate) {
  Scene scene;
  Container one = scene.add("a", 1, 64);
  one.image = "sha256:1";
  Container other = one;
  other.id = other.pod_uid = "b";
  EXPECT_EQ(KinBook::kind_of(one), KinBook::kind_of(other));

  other.memory_limit = 65 * kMiB;
  EXPECT_NE(KinBook::kind_of(one), KinBook::kind_of(other));
  other.memory_limit = one.memory_limit;
  other.image = "sha256:2";
  EXPECT_NE(KinBook::kind_of(one), KinBook::kind_of(other));
  other.image = one.image;
  one.job_template = "nightly";
  other.job_template = "hourly";
  EXPECT_NE(KinBook::kind_of(one), KinBook::kind_of(other));
}

TEST(Kin, NoMoreThanTheMostAreKeptTheLongestUnseenGoFirst) {
  KinBook book{milliseconds{100}};
  for (std::size_t i = 0; i < KinBook::kKinMax; ++i) {
    watch(book, std::to_string(i), 1, milliseconds{100});
  }
  watch(book, "0", 1, milliseconds{100});
  watch(book, "new", 1, milliseconds{100});
  EXPECT_NE(book.known("0"), nullptr);
  EXPECT_EQ(book.known("1"), nullptr);
  EXPECT_NE(book.known("2"), nullptr);
  EXPECT_NE(book.known("new"), nullptr);
}

TEST(Kin, TextServesTheNextProcess) {
  KinBook book{kKnownAfter};
  watch(book, "sha256:1 main\n% 64", 30, seconds{30});
  watch(book, "sha256:1 main\n% 64", 50, seconds{30});
  KinBook next{kKnownAfter};

  next.read(book.text());

  const Kin* kin = next.known("sha256:1 main\n% 64");
  ASSERT_NE(kin, nullptr);
  EXPECT_NEAR(mib(kin->mean), 40, 0.1);
  EXPECT_NEAR(mib(std::sqrt(kin->variance)), 10, 0.1);
  EXPECT_NEAR(mib(kin->peak), 50, 0.1);
  EXPECT_NEAR(to_seconds(kin->watched), 60, 0.01);
  EXPECT_EQ(next.text(), book.text());
}

TEST(Kin, BrokenLinesAreSkippedAndWhatIsKnownHereStays) {
  KinBook book{kKnownAfter};
  watch(book, "a", 30, seconds{20});
  watch(book, "b", 30, seconds{20});
  const std::string text = book.text();
  KinBook next{kKnownAfter};
  watch(next, "a", 7, seconds{20});

  next.read("\nnonsense\n" + text.substr(1, text.find('\n')) + text + text.substr(0, 9));

  EXPECT_NEAR(mib(next.known("a")->mean), 7, 0.1);
  EXPECT_NEAR(mib(next.known("b")->mean), 30, 0.1);
}

}  // namespace
}  // namespace sluice::node_agent
