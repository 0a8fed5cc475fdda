#include "platform/kubernetes/core/slice_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sluice::autoscaler {
namespace {

const kube::StringMap kLabels{{"kubernetes.io/service-name", "web"}};

// The slices of one Service, and an API server that applies every write.
class Slices {
 public:
  SlicePlan plan(std::vector<EndpointGroup> groups) const {
    SliceView view{"web-", std::move(groups), {}, kLabels};
    for (const auto& [name, slice] : there) view.present.emplace_back(name, &slice);
    return plan_slices(view);
  }

  void write(const SlicePlan& plan) {
    for (const RoutedSlice& slice : plan.write) {
      kube::EndpointSlice made;
      made.labels = kLabels;
      made.address_type = slice.address_type;
      made.ports = slice.ports;
      for (const RoutedEndpoint& endpoint : slice.endpoints) {
        made.endpoints.push_back(
            {endpoint.address, true, true, false, endpoint.pod, endpoint.node});
      }
      there.insert_or_assign(slice.name, made);
    }
    for (const std::string& name : plan.remove) there.erase(name);
  }

  std::map<std::string, kube::EndpointSlice> there;
};

std::vector<kube::EndpointSlice::Port> http(std::uint16_t number) {
  return {{"http", number, ""}};
}

EndpointGroup pods(int count, std::uint16_t port = 8012) {
  EndpointGroup group{http(port), {}};
  for (int i = 0; i < count; ++i) {
    group.endpoints.push_back(
        {"10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1),
         "pod-" + std::to_string(i)});
  }
  return group;
}

TEST(SlicePlan, HoldsAtMostAHundredEndpointsInEach) {
  Slices slices;
  const SlicePlan plan = slices.plan({pods(250)});

  ASSERT_EQ(plan.write.size(), 3U);
  std::set<std::string> all;
  for (const RoutedSlice& slice : plan.write) {
    EXPECT_LE(slice.endpoints.size(), kSliceEndpointsMax);
    for (const auto& endpoint : slice.endpoints) all.insert(endpoint.address);
  }
  EXPECT_EQ(all.size(), 250U);
}

TEST(SlicePlan, WritesNothingTwice) {
  Slices slices;
  slices.write(slices.plan({pods(250)}));
  EXPECT_TRUE(slices.plan({pods(250)}).settled());
}

TEST(SlicePlan, OnePodMoreOrLessRewritesOneSlice) {
  Slices slices;
  slices.write(slices.plan({pods(250)}));

  SlicePlan plan = slices.plan({pods(251)});
  EXPECT_EQ(plan.write.size(), 1U);
  slices.write(plan);

  EndpointGroup fewer = pods(251);
  fewer.endpoints.erase(fewer.endpoints.begin() + 120);
  plan = slices.plan({fewer});
  EXPECT_EQ(plan.write.size(), 1U);
  EXPECT_TRUE(plan.remove.empty());
}

TEST(SlicePlan, APodThatIsReplacedRewritesOneSlice) {
  Slices slices;
  slices.write(slices.plan({pods(250)}));
  EndpointGroup other = pods(250);
  other.endpoints[7] = {"10.9.9.9", "new"};

  EXPECT_EQ(slices.plan({other}).write.size(), 1U);
}

TEST(SlicePlan, TheWayThroughActivatorsTakesThePlaceOfThePods) {
  Slices slices;
  slices.write(slices.plan({pods(3)}));
  const EndpointGroup activators{http(20'001), {{"10.1.0.1"}, {"10.1.0.2"}}};

  const SlicePlan plan = slices.plan({activators});

  ASSERT_EQ(plan.write.size(), 1U);
  EXPECT_EQ(plan.write[0].name, "web-0");
  EXPECT_EQ(plan.write[0].ports, http(20'001));
  EXPECT_TRUE(plan.remove.empty());
}

TEST(SlicePlan, SlicesThatAreEmptyGo) {
  Slices slices;
  slices.write(slices.plan({pods(150)}));

  const SlicePlan plan = slices.plan({});

  EXPECT_TRUE(plan.write.empty());
  EXPECT_EQ(plan.remove.size(), 2U);
}

TEST(SlicePlan, AddressFamiliesAndPortsStandApart) {
  Slices slices;
  EndpointGroup mixed{http(8012), {{"10.0.0.1"}, {"fd00::1"}}};

  const SlicePlan plan = slices.plan({mixed, {http(8112), {{"10.0.0.2"}}}});

  std::multiset<std::string> types;
  for (const RoutedSlice& slice : plan.write) types.insert(slice.address_type);
  EXPECT_EQ(types, (std::multiset<std::string>{"IPv4", "IPv4", "IPv6"}));
}

TEST(SlicePlan, WhatSomebodyElseChangedIsPutBack) {
  Slices slices;
  slices.write(slices.plan({pods(2)}));
  const auto spoilt = [&slices](auto spoil) {
    Slices copy = slices;
    spoil(copy.there.begin()->second);
    return copy.plan({pods(2)}).write.size();
  };

  kube::EndpointSlice::Endpoint stranger;
  stranger.address = "10.6.6.6";
  stranger.ready = stranger.serving = true;

  EXPECT_EQ(spoilt([](auto& slice) { slice.endpoints[0].ready = false; }), 1U);
  EXPECT_EQ(spoilt([&stranger](auto& slice) { slice.endpoints.push_back(stranger); }), 1U);
  EXPECT_EQ(spoilt([](auto& slice) { slice.endpoints.pop_back(); }), 1U);
  EXPECT_EQ(spoilt([](auto& slice) { slice.ports[0].port = 1; }), 1U);
  EXPECT_EQ(spoilt([](auto& slice) { slice.labels.clear(); }), 1U);
}

TEST(SlicePlan, AnAddressStandsOnceHoweverOftenItIsNamed) {
  Slices slices;
  const SlicePlan plan = slices.plan({{http(8012), {{"10.0.0.1"}, {"10.0.0.1"}, {""}}}});
  ASSERT_EQ(plan.write.size(), 1U);
  EXPECT_EQ(plan.write[0].endpoints.size(), 1U);
}

}  // namespace
}  // namespace sluice::autoscaler
