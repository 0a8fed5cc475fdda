#include "platform/kubernetes/activator/core/cluster_view.h"

#include "tests/unit/platform/kubernetes/activator/cluster_story.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::activator::testing {
namespace {

const Labels kCart{{"app", "cart"}};
const Labels kPay{{"app", "pay"}};

TEST(ClusterView, GivesAScalerThePodsThatItsPrivateServiceSelects) {
  ClusterStory story;

  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "10.0.0.1").pod("shop/pay-1", kPay, "10.0.0.2");

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012");
}

TEST(ClusterView, GivesTheSameResultInAnyOrderOfEvents) {
  ClusterStory story;

  story.pod("shop/cart-1", kCart, "10.0.0.1");
  EXPECT_EQ(story.changes(), "");
  story.service("shop/cart-private", kCart, "shop/cart");
  EXPECT_EQ(story.changes(), "");
  story.scaler("shop/cart");

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012");
}

TEST(ClusterView, ReportsARevisionBeforeItHasPodsSoThatRequestsQueue) {
  ClusterStory story;

  story.scaler("shop/cart");

  EXPECT_EQ(story.changes(), "shop/cart");
}

TEST(ClusterView, SkipsPodsOfOtherNamespacesWithTheSameLabels) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  (void)story.changes();

  story.pod("other/cart-1", kCart, "10.0.0.9");

  EXPECT_EQ(story.changes(), "");
}

TEST(ClusterView, ReportsAPodAsSoonAsItHasAnAddress) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "", false);
  EXPECT_EQ(story.changes(), "shop/cart");

  story.pod("shop/cart-1", kCart, "10.0.0.1", false);

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012?");
}

// activator.md 12, row 57.
TEST(ClusterView, RemovesADeletedPod) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "10.0.0.1").pod("shop/cart-2", kCart, "10.0.0.2");
  (void)story.changes();

  story.view.drop_pod(ClusterStory::key("shop/cart-1"));

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.2:8012");
}

TEST(ClusterView, ReportsWhichPodsAreTerminating) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "10.0.0.1");
  (void)story.changes();

  story.pod("shop/cart-1", kCart, "10.0.0.1", false, true);

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012-?");
}

TEST(ClusterView, ReportsNothingWithoutARelevantChange) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "10.0.0.1");
  (void)story.changes();

  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/cart-1", kCart, "10.0.0.1");

  EXPECT_EQ(story.changes(), "");
}

TEST(ClusterView, MovesAPodWhoseLabelsChange) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.scaler("shop/pay").service("shop/pay-private", kPay, "shop/pay");
  story.pod("shop/one", kCart, "10.0.0.1");
  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012; shop/pay");

  story.pod("shop/one", kPay, "10.0.0.1");

  EXPECT_EQ(story.changes(), "shop/cart; shop/pay 10.0.0.1:8012");
}

TEST(ClusterView, FollowsASelectorThatChanges) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/one", kCart, "10.0.0.1").pod("shop/two", kPay, "10.0.0.2");
  (void)story.changes();

  story.service("shop/cart-private", kPay, "shop/cart");

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.2:8012");
}

TEST(ClusterView, RequiresEveryLabelOfASelector) {
  ClusterStory story;
  const Labels both{{"app", "cart"}, {"track", "stable"}};
  story.scaler("shop/cart").service("shop/cart-private", both, "shop/cart");

  story.pod("shop/one", kCart, "10.0.0.1").pod("shop/two", both, "10.0.0.2");

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.2:8012");
}

TEST(ClusterView, AnEmptySelectorMatchesNoPod) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", {}, "shop/cart");

  story.pod("shop/one", kCart, "10.0.0.1");

  EXPECT_EQ(story.changes(), "shop/cart");
}

TEST(ClusterView, GivesAPodToEveryScalerThatSelectsIt) {
  ClusterStory story;
  story.scaler("shop/a").service("shop/a-private", kCart, "shop/a");
  story.scaler("shop/b").service("shop/b-private", kCart, "shop/b");

  story.pod("shop/one", kCart, "10.0.0.1");

  EXPECT_EQ(story.changes(), "shop/a 10.0.0.1:8012; shop/b 10.0.0.1:8012");
}

TEST(ClusterView, DropsADeletedScalerAndFindsItsPodsWhenItReturns) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/one", kCart, "10.0.0.1");
  (void)story.changes();

  story.view.drop_scaler(ClusterStory::id("shop/cart"));
  EXPECT_EQ(story.changes(), "-shop/cart");
  story.scaler("shop/cart");

  EXPECT_EQ(story.changes(), "shop/cart 10.0.0.1:8012");
}

TEST(ClusterView, KeepsAScalerWhosePrivateServiceIsGoneWithoutPods) {
  ClusterStory story;
  story.scaler("shop/cart").service("shop/cart-private", kCart, "shop/cart");
  story.pod("shop/one", kCart, "10.0.0.1");
  (void)story.changes();

  story.view.drop_selection(ClusterStory::key("shop/cart-private"));

  EXPECT_EQ(story.changes(), "shop/cart");
}

ClusterSlice knative_slice(const std::string& revision, const std::string& port,
                           std::vector<SliceEndpoint> endpoints) {
  return {
      ClusterStory::id(revision), {{"http-usermetric", 9091}, {port, 8012}}, std::move(endpoints)};
}

TEST(ClusterView, GivesARevisionOfKnativesTheAddressesOfItsPrivateSlices) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart-1"), {});
  story.view.set_private_slice(
      ClusterStory::key("shop/s1"),
      knative_slice("shop/cart-1", "http",
                    {{"10.0.0.1", "a", true, false}, {"10.0.0.2", "b", false, false}}));

  EXPECT_EQ(story.changes(), "shop/cart-1 10.0.0.1:8012 10.0.0.2:8012?");
}

// activator.md 12, row 60.
TEST(ClusterView, IgnoresSlicesWithAPortOfAnotherName) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart-1"), {});
  story.view.set_private_slice(
      ClusterStory::key("shop/s1"),
      knative_slice("shop/cart-1", "http2", {{"10.0.0.1", "a", true, false}}));

  EXPECT_EQ(story.changes(), "shop/cart-1");
}

TEST(ClusterView, TakesThePortOfTheProtocolOfARevision) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart-1"), {.h2c = true});
  story.view.set_private_slice(
      ClusterStory::key("shop/s1"),
      knative_slice("shop/cart-1", "http2", {{"10.0.0.1", "a", true, false}}));

  EXPECT_EQ(story.changes(), "shop/cart-1 10.0.0.1:8012");
}

TEST(ClusterView, CountsAnAddressInTwoSlicesOnceAndReadyIfEitherIs) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart-1"), {});
  story.view.set_private_slice(
      ClusterStory::key("shop/s1"),
      knative_slice("shop/cart-1", "http", {{"10.0.0.1", "a", false, true}}));
  story.view.set_private_slice(
      ClusterStory::key("shop/s2"),
      knative_slice("shop/cart-1", "http", {{"10.0.0.1", "a", true, false}}));

  EXPECT_EQ(story.changes(), "shop/cart-1 10.0.0.1:8012");
}

TEST(ClusterView, EmptiesARevisionOfKnativesWhoseSlicesAreGone) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart-1"), {.fast_ready = false});
  story.view.set_private_slice(
      ClusterStory::key("shop/s1"),
      knative_slice("shop/cart-1", "http", {{"10.0.0.1", "a", false, false}}));
  EXPECT_EQ(story.changes(), "shop/cart-1 10.0.0.1:8012?!");

  story.view.drop_private_slice(ClusterStory::key("shop/s1"));

  EXPECT_EQ(story.changes(), "shop/cart-1");
}

TEST(ClusterView, ARequestScalerWinsOverARevisionOfTheSameName) {
  ClusterStory story;
  story.view.set_knative(ClusterStory::id("shop/cart"), {.port = 0});
  story.scaler("shop/cart", {.port = 20'000});

  const ClusterView::Changes changes = story.view.settle();

  ASSERT_EQ(changes.revisions.size(), 1U);
  EXPECT_EQ(changes.revisions[0].spec.port, 20'000);
}

TEST(ClusterView, ReportsTheAddressOfAPrivateServiceByThePortOfTheProtocol) {
  ClusterStory story;
  const RevisionId cart = ClusterStory::id("shop/cart");
  story.view.set_knative(cart, {.h2c = true});
  story.view.set_private_service({"shop", "s"},
                                 {cart, "10.2.0.1", {{"http", 80}, {"http2", 81}, {"https", 443}}});
  EXPECT_EQ(story.changes(), "shop/cart by 10.2.0.1:81,443");

  story.view.set_private_service({"shop", "s"}, {cart, "10.2.0.1", {{"http", 80}}});
  EXPECT_EQ(story.changes(), "shop/cart by 10.2.0.1:80");

  story.view.drop_private_service({"shop", "s"});
  EXPECT_EQ(story.changes(), "shop/cart");
}

TEST(ClusterView, ReportsNoPrivateServiceWithoutThePort) {
  ClusterStory story;
  const RevisionId cart = ClusterStory::id("shop/cart");
  story.scaler("shop/cart");
  story.view.set_private_service({"shop", "b"}, {cart, "10.2.0.1", {{"https", 443}}});

  EXPECT_EQ(story.changes(), "shop/cart");
}

ClusterSlice activator_slice(std::vector<SliceEndpoint> endpoints) {
  return {{}, {{"h2c", 8013}, {"http", 8012}}, std::move(endpoints)};
}

TEST(ClusterView, ReportsReadyActivatorsSorted) {
  ClusterStory story;

  story.view.set_activator_slice(
      ClusterStory::key("sluice-system/a1"),
      activator_slice({{"10.1.0.2", "b", true, false}, {"10.1.0.3", "c", false, false}}));
  story.view.set_activator_slice(ClusterStory::key("sluice-system/a2"),
                                 activator_slice({{"10.1.0.1", "a", true, false}}));

  EXPECT_EQ(story.changes(), "@10.1.0.1:8012,10.1.0.2:8012");
  EXPECT_EQ(story.changes(), "");
}

TEST(ClusterView, ReportsTheActivatorsAgainWhenOneLeaves) {
  ClusterStory story;
  story.view.set_activator_slice(
      ClusterStory::key("sluice-system/a1"),
      activator_slice({{"10.1.0.1", "a", true, false}, {"10.1.0.2", "b", true, false}}));
  (void)story.changes();

  story.view.set_activator_slice(
      ClusterStory::key("sluice-system/a1"),
      activator_slice({{"10.1.0.1", "a", true, false}, {"10.1.0.2", "b", false, true}}));

  EXPECT_EQ(story.changes(), "@10.1.0.1:8012");
}

ClusterSlice public_slice(const std::string& revision, std::vector<SliceEndpoint> endpoints) {
  return {ClusterStory::id(revision), {{"http", 20'000}}, std::move(endpoints)};
}

// activator.md 5.6: places are counted among those that serve the revision.
TEST(ClusterView, ReportsTheActivatorsOfARevision) {
  ClusterStory story;
  story.scaler("shop/cart");
  story.view.set_activator_slice(ClusterStory::key("sluice-system/a1"),
                                 activator_slice({{"10.1.0.1", "a", true, false},
                                                  {"10.1.0.2", "b", true, false},
                                                  {"10.1.0.3", "c", true, false}}));
  (void)story.changes();

  story.view.set_public_slice(
      ClusterStory::key("shop/cart-x"),
      public_slice("shop/cart", {{"10.1.0.3", "", true, false}, {"10.1.0.1", "", true, false}}));

  EXPECT_EQ(story.changes(), "shop/cart @10.1.0.1 @10.1.0.3");
}

TEST(ClusterView, ReportsNoPodsOfAPublicService) {
  ClusterStory story;
  story.scaler("shop/cart");
  story.view.set_activator_slice(ClusterStory::key("sluice-system/a1"),
                                 activator_slice({{"10.1.0.1", "a", true, false}}));
  (void)story.changes();

  story.view.set_public_slice(ClusterStory::key("shop/cart-x"),
                              public_slice("shop/cart", {{"10.0.0.1", "p", true, false}}));

  EXPECT_EQ(story.changes(), "");
}

TEST(ClusterView, CountsNoActivatorThatHasLeftThoughASliceStillNamesIt) {
  ClusterStory story;
  story.scaler("shop/cart");
  story.view.set_activator_slice(
      ClusterStory::key("sluice-system/a1"),
      activator_slice({{"10.1.0.1", "a", true, false}, {"10.1.0.2", "b", true, false}}));
  story.view.set_public_slice(
      ClusterStory::key("shop/cart-x"),
      public_slice("shop/cart", {{"10.1.0.1", "", true, false}, {"10.1.0.2", "", true, false}}));
  EXPECT_EQ(story.changes(), "shop/cart @10.1.0.1 @10.1.0.2; @10.1.0.1:8012,10.1.0.2:8012");

  story.view.set_activator_slice(ClusterStory::key("sluice-system/a1"),
                                 activator_slice({{"10.1.0.2", "b", true, false}}));

  EXPECT_EQ(story.changes(), "shop/cart @10.1.0.2; @10.1.0.2:8012");
}

TEST(ClusterView, DropsTheActivatorsOfADeletedPublicSlice) {
  ClusterStory story;
  story.scaler("shop/cart");
  story.view.set_activator_slice(ClusterStory::key("sluice-system/a1"),
                                 activator_slice({{"10.1.0.1", "a", true, false}}));
  story.view.set_public_slice(ClusterStory::key("shop/cart-x"),
                              public_slice("shop/cart", {{"10.1.0.1", "", true, false}}));
  (void)story.changes();

  story.view.drop_public_slice(ClusterStory::key("shop/cart-x"));

  EXPECT_EQ(story.changes(), "shop/cart");
}

// Goal: pods, selectors and scalers that come, change and go in any order leave what a look at all
// of them at once would find. Method: a thousand seeded steps over few names, each followed by a
// comparison with a naive twin.
TEST(ClusterView, AgreesWithANaiveTwinOverRandomSteps) {
  std::uint64_t seed = 7;
  const auto next = [&seed](std::uint64_t below) {
    seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return (seed >> 33U) % below;
  };
  PodSelections selections;
  std::map<std::string, ClusterPod> pods;
  std::map<std::string, PodSelection> services;
  const std::vector<Labels> labels{
      {{"app", "a"}}, {{"app", "b"}}, {{"app", "a"}, {"t", "x"}}, {{"app", "b"}, {"t", "x"}}, {}};
  for (int step = 0; step < 2000; ++step) {
    const std::string pod = "p" + std::to_string(next(6));
    const std::string service = "s" + std::to_string(next(3));
    switch (next(4)) {
      case 0:
        pods.erase(pod);
        selections.drop_pod({"n", pod});
        break;
      case 1:
        services.erase(service);
        selections.drop_selection({"n", service});
        break;
      case 2:
        services[service] = {{"n", "r" + std::to_string(next(2))}, labels[next(5)]};
        selections.set_selection({"n", service}, services[service]);
        break;
      default:
        pods[pod] = {
            .labels = labels[next(5)], .ip = "10.0.0." + std::to_string(next(4)), .port = 1};
        selections.set_pod({"n", pod}, pods[pod]);
        break;
    }
    if (next(3) == 0) continue;
    (void)selections.settle();
    for (const char* name : {"r0", "r1"}) {
      std::string want;
      for (const auto& [key, one] : pods) {
        const auto& has = one.labels;
        const bool selected = std::any_of(services.begin(), services.end(), [&](const auto& entry) {
          const PodSelection& wanted = entry.second;
          return wanted.revision.name == name && !wanted.selector.empty() &&
                 std::includes(has.begin(), has.end(), wanted.selector.begin(),
                               wanted.selector.end());
        });
        if (selected) want += key + "=" + one.ip + " ";
      }
      std::string have;
      for (const ReachablePod& one : selections.pods({"n", name}))
        have += one.name + "=" + one.ip + " ";
      ASSERT_EQ(have, want) << "step " << step;
    }
  }
}

TEST(ClusterView, ReportsKnativesRevisionsAgainUnderAnotherContract) {
  using settings::KnativeContract;
  ClusterView view;
  view.set_knative({"n", "theirs"}, {});
  view.set_scaler({"n", "ours"}, {});
  EXPECT_EQ(view.settle().revisions.size(), 2U);

  view.set_knative_contract(KnativeContract::older);
  const ClusterView::Changes changes = view.settle();

  ASSERT_EQ(changes.revisions.size(), 1U);
  EXPECT_EQ(changes.revisions[0].id.name, "theirs");
  EXPECT_EQ(changes.revisions[0].contract, KnativeContract::older);
  view.set_knative_contract(KnativeContract::older);
  EXPECT_TRUE(view.settle().revisions.empty());
}

}  // namespace
}  // namespace sluice::activator::testing
