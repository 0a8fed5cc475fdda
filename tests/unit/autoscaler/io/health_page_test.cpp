#include "autoscaler/io/health_page.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

TEST(HealthText, IsShortWhileAllIsWell) {
  EXPECT_EQ(health_text({{"platform", true, "3 files"}, {"orders", true, ""}}, false), "ok\n");
}

TEST(HealthText, ShowsEveryCheckOnRequest) {
  EXPECT_EQ(health_text({{"platform", true, "3 files"}, {"orders", true, ""}}, true),
            "[+]platform ok: 3 files\n[+]orders ok\nreadyz check passed\n");
}

TEST(HealthText, ShowsEveryCheckWhenOneIsBad) {
  EXPECT_EQ(health_text({{"platform", true, ""}, {"orders", false, "no room"}}, false),
            "[+]platform ok\n[-]orders failed: no room\nreadyz check failed\n");
}

}  // namespace
}  // namespace sluice::autoscaler
