#include "autoscaler/core/scrape_mode.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

const ScrapeResult kStat = std::optional{Stat{.average_concurrency = 1}};
const ScrapeResult kNoPods = std::optional<Stat>{};
const ScrapeResult kAllMesh = ScrapeError::direct_not_available;
const ScrapeResult kExhausted = ScrapeError::pods_exhausted;

TEST(ScrapeModes, EnabledMeshIsScrapedThroughTheService) {
  const ScrapeModes modes{MeshSetting::enabled, false};

  EXPECT_EQ(modes.first(), ScrapeMode::service);
}

TEST(ScrapeModes, DisabledMeshIsScrapedDirectlyAndNeverOtherwise) {
  const ScrapeModes modes{MeshSetting::disabled, false};

  EXPECT_EQ(modes.first(), ScrapeMode::direct);
  EXPECT_FALSE(modes.falls_back(kAllMesh));
}

// Row 88.
TEST(ScrapeModes, AllPodsBehindAMeshMeansTheServiceFromThenOn) {
  ScrapeModes modes{MeshSetting::detect, false};
  EXPECT_EQ(modes.first(), ScrapeMode::direct);
  EXPECT_TRUE(modes.falls_back(kAllMesh));

  modes.service_ended(kStat);

  EXPECT_EQ(modes.first(), ScrapeMode::service);
  modes.service_ended(kExhausted);
  EXPECT_EQ(modes.first(), ScrapeMode::service) << "one failure does not undo it";
}

TEST(ScrapeModes, ServiceThatDidNotWorkIsNotRemembered) {
  ScrapeModes modes{MeshSetting::detect, false};

  modes.service_ended(ScrapeError::did_not_receive_stat);
  EXPECT_EQ(modes.first(), ScrapeMode::direct);
  modes.service_ended(kNoPods);
  EXPECT_EQ(modes.first(), ScrapeMode::direct) << "nobody was there to answer";
}

TEST(ScrapeModes, OnlyAMeshMakesItFallBack) {
  const ScrapeModes modes{MeshSetting::detect, false};

  EXPECT_FALSE(modes.falls_back(kStat));
  EXPECT_FALSE(modes.falls_back(kNoPods));
  EXPECT_FALSE(modes.falls_back(kExhausted));
  EXPECT_FALSE(modes.falls_back(ScrapeError::list_failed));
}

// Row 89.
TEST(ScrapeModes, PassthroughKeepsTheErrorAndDoesNotFallBack) {
  const ScrapeModes modes{MeshSetting::detect, true};

  EXPECT_EQ(modes.first(), ScrapeMode::direct);
  EXPECT_FALSE(modes.falls_back(kAllMesh));
}

}  // namespace
}  // namespace sluice::autoscaler
