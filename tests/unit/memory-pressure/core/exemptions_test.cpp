#include "memory-pressure/core/exemptions.h"

#include "tests/unit/memory-pressure/core/scene.h"

#include <gtest/gtest.h>

#include "memory-pressure/core/floors.h"

namespace sluice::node_agent {
namespace {

std::string why(void (*mark)(Marks&)) {
  Scene scene;
  mark(scene.add("a", 10, 20).marks);
  const auto found = exemption(scene["a"], scene.seen.containers);
  return found ? std::string{name(*found)} : "";
}

TEST(Exemptions, SystemProxyInitPinnedLockAndOptOutAreNeverChosen) {
  EXPECT_EQ(why([](Marks& m) { m.system = true; }), "system");
  EXPECT_EQ(why([](Marks& m) { m.request_proxy = true; }), "request proxy");
  EXPECT_EQ(why([](Marks& m) { m.init = true; }), "init container");
  EXPECT_EQ(why([](Marks& m) { m.exclusive_cpus = true; }), "exclusive CPUs");
  EXPECT_EQ(why([](Marks& m) { m.holds_lock = true; }), "holds a lock");
  EXPECT_EQ(why([](Marks& m) { m.never = true; }), "opted out");
  EXPECT_EQ(why([](Marks& m) { m.serves = m.job = m.batch = true; }), "");
}

TEST(Exemptions, WholePodPausesBothOrNone) {
  Scene scene;
  scene.add("a", 10, 20).marks.whole_pod = true;
  scene.add("b", 10, 20).marks.never = true;
  EXPECT_EQ(exemption(scene["a"], scene.seen.containers), std::nullopt);

  scene["b"].pod_uid = scene["a"].pod_uid;
  EXPECT_EQ(exemption(scene["a"], scene.seen.containers), Exemption::sibling);
}

TEST(Floors, FollowTheNeedsOfProbes) {
  Scene scene;
  const Floors floors{PolicySettings{}};
  EXPECT_EQ(floors.floor(scene.add("plain", 10, 20)), 25);
  Container& probed = scene.add("probed", 10, 20);
  probed.marks.exec_probe = true;
  EXPECT_EQ(floors.floor(probed), 50);
  Container& serving = scene.add("serving", 10, 20);
  serving.marks.serves = serving.marks.batch = true;
  EXPECT_EQ(floors.floor(serving), 100);
  Container& batch = scene.add("batch", 10, 20);
  batch.marks.batch = true;
  EXPECT_EQ(floors.floor(batch), 1);
}

TEST(Floors, DoubleForAnOwnerAndApplyToItsNextContainer) {
  Scene scene;
  Floors floors{PolicySettings{}};
  Container one = scene.add("first", 10, 20);
  floors.raise(one);
  one.id = "second";
  EXPECT_EQ(floors.floor(one), 50);
  for (int i = 0; i < 10; ++i) floors.raise(one);
  EXPECT_EQ(floors.floor(one), 500);
  EXPECT_EQ(floors.floor(scene.add("other", 10, 20)), 25);
}

}  // namespace
}  // namespace sluice::node_agent
