#include "platform/kubernetes/io/scaler_sight.h"

#include <gtest/gtest.h>

#include "platform/kubernetes/io/watched_pod.h"

namespace sluice::autoscaler {
namespace {

class ScalerSightTest : public ::testing::Test {
 protected:
  ScalerSightTest() {
    sight_.id = {"shop", "web"};
    sight_.scaler = &scaler_;
    sight_.target = &target_;
    sight_.front = &front_;
    target_.ports = {{"http", 8080}, {"metrics", 9100}};
    front_.ports = {{"http", 80, "http", "", "TCP"}, {"metrics", 90, "metrics", "", "TCP"}};
    pod_.ip = "10.0.0.1";
    pod_.phase = "Running";
    pod_.ready = true;
    pod_.serving_port = 8012;
    sight_.pods = {{"web-1", &pod_}};
  }

  kube::RequestScaler scaler_;
  kube::Workload target_;
  kube::Service front_;
  kube::Pod pod_;
  ScalerSight sight_;
};

TEST_F(ScalerSightTest, APodServesByItsSidecarAndIsScrapedThere) {
  const model::Revision revision = watched(sight_);

  ASSERT_EQ(revision.pods.size(), 1U);
  EXPECT_EQ(revision.pods[0].address->text(), "10.0.0.1:8012");
  EXPECT_EQ(revision.pods[0].stats->text(), "10.0.0.1:9090");
  EXPECT_TRUE(revision.pods[0].ready);
  EXPECT_EQ(revision.hosts[0].host, "web.shop");
}

TEST_F(ScalerSightTest, AChosenNumberIsPassedOn) {
  EXPECT_EQ(watched(sight_).chosen, std::nullopt);
  scaler_.replicas = 0;
  EXPECT_EQ(watched(sight_).chosen, 0);
}

TEST_F(ScalerSightTest, ATargetIsReportedByItsKindAndNameWhileItExists) {
  scaler_.target.name = "web";
  EXPECT_EQ(watched(sight_).target, "Deployment/web");
  scaler_.target.kind = "StatefulSet";
  EXPECT_EQ(watched(sight_).target, "StatefulSet/web");
  sight_.target = nullptr;
  EXPECT_EQ(watched(sight_).target, "");
}

TEST_F(ScalerSightTest, WhatAReplicaMayTakeIsThatOfTheTarget) {
  target_.claim_memory = 1 << 20;
  target_.claim_cpu = 250;
  EXPECT_EQ(watched(sight_).claim_memory, 1 << 20);
  EXPECT_EQ(watched(sight_).claim_cpu, 250);

  sight_.target = nullptr;
  EXPECT_EQ(watched(sight_).claim_memory, std::nullopt);
}

TEST_F(ScalerSightTest, APodNamesItsNode) {
  pod_.node = "n1";
  EXPECT_EQ(watched(sight_).pods[0].node, "n1");
}

TEST_F(ScalerSightTest, TheReasonOfAFailedStartIsPassedOn) {
  EXPECT_EQ(watched(sight_).pods[0].failed, "");
  pod_.ready = false;
  pod_.unready = {{.name = "app", .image = "web:1", .waiting = "ErrImagePull"}};
  EXPECT_EQ(watched(sight_).pods[0].failed, "container app: image web:1 cannot be pulled");
}

TEST_F(ScalerSightTest, AnEndedPodIsNotCounted) {
  pod_.phase = "Failed";
  EXPECT_TRUE(watched(sight_).pods.empty());
  EXPECT_TRUE(scale_pods(sight_).empty());
}

TEST_F(ScalerSightTest, AnIPv6AddressIsWrittenInBrackets) {
  pod_.ip = "fd00::1";
  EXPECT_EQ(watched(sight_).pods[0].address->text(), "[fd00::1]:8012");
}

TEST_F(ScalerSightTest, PodsWithoutASidecarAreNamedWithWhatToLabel) {
  sight_.pods.clear();
  target_.status_ready = 1;

  const auto trouble = sidecar_trouble(sight_);

  ASSERT_TRUE(trouble.has_value());
  EXPECT_EQ(trouble->reason, "SidecarMissing");
  EXPECT_NE(trouble->fix.find("namespace shop sluice.dev/inject=enabled"), std::string::npos);
}

TEST_F(ScalerSightTest, AWrongAnnotationIsNamed) {
  scaler_.scaling = {{"autoscaling.knative.dev/min-scale", "two"}};
  EXPECT_EQ(settings_trouble(sight_, {})->reason, "InvalidAnnotation");
}

TEST_F(ScalerSightTest, AllPortsLeadToTheActivatorsPort) {
  const auto groups = endpoint_groups(sight_, {RouteMode::proxy, {"10.1.0.1"}, 20'001});

  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].ports.size(), 2U);
  EXPECT_EQ(groups[0].ports[0].port, 20'001);
  EXPECT_EQ(groups[0].endpoints[0].address, "10.1.0.1");
}

TEST_F(ScalerSightTest, StraightToThePodsItIsTheirServingPort) {
  const auto groups = endpoint_groups(sight_, {RouteMode::serve, {"10.0.0.1:8012"}, 20'001});

  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].ports[0].port, 8012);
  EXPECT_EQ(groups[0].endpoints[0].pod, "web-1");
}

TEST_F(ScalerSightTest, APodThatIsAvoidedIsNotRouted) {
  EXPECT_TRUE(endpoint_groups(sight_, {RouteMode::serve, {}, 20'001}).empty());
}

TEST_F(ScalerSightTest, WithoutThePortThatCarriesRequestsAllPortsKeepTheirTargets) {
  scaler_.service.port = "htpp";
  for (const RouteMode mode : {RouteMode::proxy, RouteMode::serve}) {
    const auto groups = endpoint_groups(
        sight_, {.mode = mode, .addresses = {"10.0.0.1:8012"}, .activator_port = 20'000});
    ASSERT_EQ(groups.size(), 1U);
    EXPECT_EQ(groups[0].ports.size(), 2U);
    EXPECT_EQ(groups[0].endpoints[0].address, "10.0.0.1");
  }
}

TEST_F(ScalerSightTest, PortsThatCarryNoRequestsKeepTheirTargets) {
  scaler_.service.port = "http";

  const auto groups = endpoint_groups(sight_, {RouteMode::proxy, {"10.1.0.1"}, 20'001});

  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].ports.size(), 1U);
  EXPECT_EQ(groups[1].ports[0].name, "metrics");
  EXPECT_EQ(groups[1].ports[0].port, 9100);
  EXPECT_EQ(groups[1].endpoints[0].address, "10.0.0.1");
}

TEST_F(ScalerSightTest, APortThatIsNotOfTcpLeadsStraightToThePods) {
  front_.ports = {{"http", 443, "queue-port", "", "TCP"}, {"quic", 443, "8443", "", "UDP"}};

  const auto groups = endpoint_groups(sight_, {RouteMode::proxy, {"10.1.0.1"}, 20'001});

  using Ports = std::vector<kube::EndpointSlice::Port>;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].ports, (Ports{{"http", 20'001, "", "TCP"}}));
  EXPECT_EQ(groups[1].ports, (Ports{{"quic", 8443, "", "UDP"}}));
  EXPECT_EQ(groups[1].endpoints[0].address, "10.0.0.1");
}

TEST_F(ScalerSightTest, APodBelongsToAWorkloadByItsOwner) {
  EXPECT_TRUE(made_by(pod_, "Deployment", "web")) << "without an owner";
  pod_.owner = {"ReplicaSet", "web-77", "u"};
  EXPECT_TRUE(made_by(pod_, "Deployment", "web")) << "of a ReplicaSet that was taken over";
  pod_.labels["pod-template-hash"] = "77";
  EXPECT_TRUE(made_by(pod_, "Deployment", "web"));
  EXPECT_FALSE(made_by(pod_, "Deployment", "we"));
  EXPECT_FALSE(made_by(pod_, "StatefulSet", "web-77"));

  pod_.owner = {"StatefulSet", "web", "u"};
  EXPECT_TRUE(made_by(pod_, "StatefulSet", "web"));
  EXPECT_FALSE(made_by(pod_, "StatefulSet", "we"));
  EXPECT_FALSE(made_by(pod_, "Deployment", "web"));
}

}  // namespace
}  // namespace sluice::autoscaler
