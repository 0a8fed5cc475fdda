// Goal: each rule of the ledger and of the scale watch names its breach, and nothing else does.
// Method: doctored records, one wrong entry each.
#include "tests/simulation/activators_ledger.h"
#include "tests/simulation/activators_scale_watch.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace sluice::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const RevisionId kApp{"default", "app"};

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() { ledger.list(door, {{"a", false}, {"b", false}}); }

  Ledger::Request on(const std::string& dest) {
    const auto request = ledger.arrived(door);
    ledger.admitted(request, dest);
    return request;
  }

  void expect(const std::string& breach) {
    EXPECT_NE(ledger.breach().find(breach), std::string::npos) << ledger.breach();
  }

  Ledger ledger;
  Ledger::Door door = ledger.open_door(1, 2);
  TimePoint now{seconds{1'700'000'000}};
};

TEST_F(LedgerTest, AcceptsARetryThatIsAnswered) {
  const auto first = on("a");
  const auto second = ledger.arrived(door);
  ledger.waits(second);
  ledger.full(first, now + milliseconds{100});
  ledger.retried(first);
  ledger.admitted(first, "b");
  ledger.check_room(now);
  ledger.began(first, 1, 1);
  ledger.done(first, 1, true);
  ledger.ended(first, Ending::answered);
  ledger.admitted(second, "b");
  ledger.killed(second);
  ledger.ended(second, Ending::cut);
  ledger.check_closed();

  EXPECT_EQ(ledger.breach(), "");
  EXPECT_EQ(ledger.open(), 0U);
}

TEST_F(LedgerTest, DetectsARequestThatNeverEnds) {
  (void)on("a");
  ledger.check_closed();
  expect("never ends");
}

TEST_F(LedgerTest, DetectsASecondEnd) {
  const auto request = on("a");
  ledger.ended(request, Ending::left);
  ledger.ended(request, Ending::left);
  expect("ends twice");
}

TEST_F(LedgerTest, DetectsASecondBeginning) {
  const auto request = on("a");
  ledger.began(request, 1, 1);
  ledger.began(request, 2, 1);
  expect("is begun twice");
}

TEST_F(LedgerTest, DetectsAnApplicationAboveItsLimit) {
  ledger.began(on("a"), 1, 1);
  ledger.began(on("b"), 1, 1);
  expect("exceeds containerConcurrency");
}

TEST_F(LedgerTest, DetectsAnAnswerWithoutAPodAndACutWithoutAKill) {
  ledger.ended(on("a"), Ending::answered);
  expect("is answered without a pod");

  Ledger other;
  const auto elsewhere = other.open_door(1, 2);
  other.list(elsewhere, {{"a", false}});
  const auto request = other.arrived(elsewhere);
  other.admitted(request, "a");
  other.ended(request, Ending::cut);
  EXPECT_NE(other.breach().find("no pod was killed"), std::string::npos);
}

TEST_F(LedgerTest, DetectsARequestThatOvertakesAnother) {
  (void)on("a");
  (void)on("b");
  ledger.waits(ledger.arrived(door));
  const auto last = ledger.arrived(door);
  ledger.list(door, {{"a", false}, {"b", false}, {"c", false}});
  ledger.admitted(last, "c");
  expect("overtakes one who waits");
}

TEST_F(LedgerTest, AllowsANewRequestToPassARetryThatTriedThePod) {
  const auto tried = on("a");
  ledger.retried(tried);
  ledger.waits(tried);
  (void)on("a");

  EXPECT_EQ(ledger.breach(), "");
  ledger.check_room(now);
  expect("waits while a pod has room");  // b
}

TEST_F(LedgerTest, DetectsARequestThatWaitsBesideAFreePodUnlessItIsPausedOrAvoided) {
  (void)on("b");
  const auto full = on("a");
  ledger.full(full, now + milliseconds{100});
  ledger.retried(full);
  ledger.waits(full);
  ledger.waits(ledger.arrived(door));
  ledger.check_room(now);
  EXPECT_EQ(ledger.breach(), "");

  ledger.list(door, {{"a", true}, {"b", false}});
  ledger.check_room(now + seconds{1});
  EXPECT_EQ(ledger.breach(), "");

  ledger.list(door, {{"a", true}, {"b", true}});
  ledger.check_room(now + seconds{1});
  expect("request 2 waits while a pod has room");
}

TEST_F(LedgerTest, DetectsRetriesThatAreNotAllowed) {
  const auto begun = on("a");
  ledger.began(begun, 1, 1);
  ledger.retried(begun);
  expect("an application may have begun it");

  Ledger other;
  const auto elsewhere = other.open_door(1, 2);
  other.list(elsewhere, {{"a", false}});
  const auto request = other.arrived(elsewhere);
  other.admitted(request, "a");
  other.body_sent(request);
  other.retried(request);
  EXPECT_NE(other.breach().find("with a body byte gone"), std::string::npos);
}

TEST_F(LedgerTest, DetectsAThirdRetry) {
  ledger.list(door, {{"a", false}, {"b", false}, {"c", false}, {"d", false}});
  const auto request = on("a");
  ledger.retried(request);
  ledger.admitted(request, "b");
  ledger.retried(request);
  ledger.admitted(request, "c");
  EXPECT_EQ(ledger.breach(), "");
  ledger.retried(request);
  expect("is tried again too often");
}

TEST_F(LedgerTest, DetectsRefusalsThatAreNotDue) {
  ledger.ended(ledger.arrived(door), Ending::refused, Reason::queue_full);
  expect("is refused with room to wait");

  Ledger third;
  const auto hopeless = third.open_door(1, 2);
  third.set_depth(hopeless, 2, true);
  third.ended(third.arrived(hopeless), Ending::refused, Reason::cannot_scale);
  EXPECT_EQ(third.breach(), "");
  third.set_depth(hopeless, 2, false);
  third.ended(third.arrived(hopeless), Ending::refused, Reason::cannot_scale);
  EXPECT_NE(third.breach().find("although pods may be had"), std::string::npos);

  Ledger other;
  const auto elsewhere = other.open_door(1, 2);
  other.list(elsewhere, {{"a", false}, {"b", false}});
  const auto request = other.arrived(elsewhere);
  other.admitted(request, "a");
  other.ended(request, Ending::refused, Reason::pod_draining);
  EXPECT_NE(other.breach().find("is refused with retries left"), std::string::npos);
}

TEST_F(LedgerTest, DetectsAPodThatShouldNotBeChosen) {
  ledger.list(door, {{"a", true}, {"b", false}});
  (void)on("a");
  expect("is sent to a pod to be avoided");

  Ledger other;
  const auto elsewhere = other.open_door(1, 2);
  other.admitted(other.arrived(elsewhere), "a");
  EXPECT_NE(other.breach().find("is not listed"), std::string::npos);
}

class ScaleWatchTest : public testing::Test {
 protected:
  ScaleWatch watch{seconds{6}};
  TimePoint now{seconds{1'700'000'000}};
};

TEST_F(ScaleWatchTest, DetectsVersionsThatDecrease) {
  watch.decided(kApp, 5);
  watch.decided(kApp, 5);
  watch.in_force("one", kApp, 5);
  watch.in_force("two", kApp, 4);
  EXPECT_EQ(watch.breach(), "");

  watch.in_force("one", kApp, 5);
  EXPECT_EQ(watch.breach(), "app goes back to an older state at an activator");

  ScaleWatch other{seconds{6}};
  other.decided(kApp, 5);
  other.decided(kApp, 4);
  EXPECT_EQ(other.breach(), "app is given an older version than before");
}

TEST_F(ScaleWatchTest, DetectsScaleToZeroWithoutAConnectedActivator) {
  watch.scaled(kApp, 1, 0, 1);
  watch.scaled(kApp, 2, 1, 0);
  EXPECT_EQ(watch.breach(), "");

  watch.scaled(kApp, 1, 0, 0);
  EXPECT_EQ(watch.breach(), "app is scaled to zero while no activator is connected");
}

TEST_F(ScaleWatchTest, DetectsAPodStoppedWhileAnActivatorUsesIt) {
  using Chooser = ScaleWatch::Chooser;
  const std::array sound{Chooser{"avoids", seconds{0}, true, true},
                         Chooser{"silent", seconds{5}, true, false},
                         Chooser{"newer than the autoscaler", {}, false, false}};
  watch.removes(kApp, "pod-1", sound, seconds{4});
  watch.removes(kApp, "pod-1", std::array{Chooser{"unheard", {}, true, false}}, seconds{5});
  EXPECT_EQ(watch.breach(), "");

  watch.removes(kApp, "pod-1", std::array{Chooser{"unheard", {}, true, false}}, seconds{4});
  EXPECT_EQ(watch.breach(), "app pod-1 may be stopped while unheard still sends it requests");
}

TEST_F(ScaleWatchTest, DetectsARevisionThatStaysAtZeroAndARequestThatIsNotServed) {
  watch.stranded(kApp, true, now);
  watch.stranded(kApp, false, now + seconds{5});
  watch.stranded(kApp, true, now + seconds{6});
  watch.stranded(kApp, true, now + seconds{12});
  EXPECT_EQ(watch.breach(), "");
  watch.stranded(kApp, true, now + milliseconds{12'100});
  EXPECT_EQ(watch.breach(), "app sleeps on while a request waits");

  ScaleWatch other{seconds{6}};
  other.unserved("one", kApp, true, now);
  other.unserved("two", kApp, true, now + seconds{4});
  EXPECT_EQ(other.breach(), "");
  other.unserved("one", kApp, true, now + seconds{5});
  EXPECT_EQ(other.breach(), "app has pods that one does not find");
}

TEST_F(ScaleWatchTest, DetectsStatesThatDifferAtBothEnds) {
  proto::RevisionState here{.revision = kApp, .version = 7, .desired = 1, .ready = 0};
  proto::RevisionState there{.revision = kApp, .version = 7, .desired = 1, .ready = 1};
  watch.converged("one", kApp, &here, &there);
  watch.converged("one", kApp, nullptr, nullptr);
  EXPECT_EQ(watch.breach(), "");

  there.version = 8;
  watch.converged("one", kApp, &here, &there);
  EXPECT_EQ(watch.breach(), "app has two states at one");
}

TEST_F(ScaleWatchTest, DetectsLeftoversAtTheEnd) {
  watch.left_over("pods", 0);
  EXPECT_EQ(watch.breach(), "");
  watch.left_over("pods", 2);
  EXPECT_EQ(watch.breach(), "2 pods left when all should be at rest");
}

}  // namespace
}  // namespace sluice::simulation
