#include "autoscaler/placement/core/applications.h"

#include "tests/unit/autoscaler/placement/core/scene.h"

#include <gtest/gtest.h>

namespace sluice::placement {
namespace {

class ApplicationsTest : public ::testing::Test {
 protected:
  ApplicationsTest() {
    for (const char* name : {"fast", "slow", "far"}) scene_.place(name, {});
    for (const char* name : {"shop", "pay", "lone"}) scene_.service(name);
  }

  void add(const std::string& service, const std::string& application) {
    applications_.add(scene_.id(service), application, scene_.ledger());
  }

  Scene scene_;
  Applications applications_;
};

TEST_F(ApplicationsTest, ServicesOfOneNameAreSpreadOverThePlacesOfAllOfThem) {
  scene_.run("shop", "fast", 2);
  scene_.run("pay", "fast");
  scene_.run("pay", "slow");
  scene_.run("lone", "far");
  add("shop", "web");
  add("lone", "other");
  add("pay", "web");

  EXPECT_EQ(applications_.places(scene_.id("shop")), 2);
  EXPECT_EQ(applications_.places(scene_.id("pay")), 2);
  EXPECT_EQ(applications_.places(scene_.id("lone")), 1);
  EXPECT_EQ(applications_.of(scene_.id("shop")), applications_.of(scene_.id("pay")));
  EXPECT_NE(applications_.of(scene_.id("shop")), applications_.of(scene_.id("lone")));
  EXPECT_NE(applications_.of(scene_.id("shop")), ApplicationId{});
}

TEST_F(ApplicationsTest, AServiceThatNamesNoneIsOneByItself) {
  scene_.run("shop", "fast");
  scene_.run("lone", "fast");
  scene_.run("lone", "slow");
  add("shop", "");
  add("lone", "");

  EXPECT_EQ(applications_.places(scene_.id("shop")), 1);
  EXPECT_EQ(applications_.places(scene_.id("lone")), 2);
  EXPECT_EQ(applications_.of(scene_.id("shop")), ApplicationId{});
  EXPECT_EQ(applications_.of(scene_.id("lone")), ApplicationId{});
}

TEST_F(ApplicationsTest, OneThatWasNotAddedIsOfNone) {
  add("shop", "web");

  EXPECT_EQ(applications_.places(scene_.id("pay")), 0);
  EXPECT_EQ(applications_.of(scene_.id("pay")), ApplicationId{});
}

}  // namespace
}  // namespace sluice::placement
