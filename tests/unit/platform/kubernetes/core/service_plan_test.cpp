#include "platform/kubernetes/core/service_plan.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using Step = ServiceStep;
using Steps = std::vector<ServiceStep>;

// A scaler, its target and its Services as the API server would show them, one row of protocols.md
// 8 after the other.
class ServicePlanTest : public ::testing::Test {
 protected:
  ServicePlanTest() {
    scaler_.uid = "uid-1";
    scaler_.target = {"apps/v1", "Deployment", "web"};
    workload_.selector.labels = {{"app", "web"}};
    workload_.ports = {{"http", 8080}};
    pods_.labels = {{"sluice.dev/scaler", "web"}};
    pods_.owner = {"RequestScaler", "web", "uid-1"};
    pods_.selector = pods_selector(workload_);
    pods_.ports = {pods_port(scaler_)};
    front_.type = "ClusterIP";
    front_.ports = {{"http", 80, "http", "", "TCP"}};
  }

  [[nodiscard]] ServiceView view() const {
    ServiceView made;
    made.id = {"shop", "web"};
    made.scaler = &scaler_;
    made.workload = &workload_;
    made.front = has_front_ ? &front_ : nullptr;
    made.pods = has_pods_ ? &pods_ : nullptr;
    made.has_slices = true;
    made.slices_stand = true;
    return made;
  }

  static std::string reason(const ServicePlan& plan) {
    return plan.trouble ? plan.trouble->reason : "";
  }

  // Of a Service with a selector that is to be taken over, everything being prepared.
  ServiceView adopting() {
    scaler_.service.adopt = true;
    scaler_.finalizers = {std::string{kFinalizer}};
    front_.selector = {{"app", "web"}};
    workload_.status_ready = 2;
    ServiceView made = view();
    made.injected_ready = 2;
    made.has_slices = true;
    made.slices_stand = true;
    return made;
  }

  kube::RequestScaler scaler_;
  kube::Workload workload_;
  kube::Service front_;
  kube::Service pods_;
  bool has_front_ = true;
  bool has_pods_ = true;
};

// --- absent ---

TEST_F(ServicePlanTest, AServiceThatIsAbsentIsMade) {
  has_front_ = false;
  has_pods_ = false;

  const ServicePlan plan = plan_service(view());

  EXPECT_EQ(plan.steps, (Steps{Step::apply_pods, Step::create_front}));
  EXPECT_TRUE(plan.routes);
}

TEST_F(ServicePlanTest, ItHasThePortsOfTheSpecElseOfTheContainers) {
  EXPECT_EQ(front_ports(scaler_, workload_)[0].port, 8080);

  scaler_.service.ports = {{"web", 80}, {"more", 81}};

  const auto ports = front_ports(scaler_, workload_);
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].name, "web");
  EXPECT_EQ(ports[0].target_port, "queue-port");
}

TEST_F(ServicePlanTest, OnlyPortsThatRequestsCanComeToAreItsOwn) {
  workload_.ports = {{"", 443, "TCP"}, {"", 443, "UDP"}};

  const auto ports = front_ports(scaler_, workload_);

  ASSERT_EQ(ports.size(), 1U);
  EXPECT_EQ(ports[0].port, 443);
  EXPECT_EQ(ports[0].name, "http");
}

TEST_F(ServicePlanTest, WithoutAnyPortItHasTheUsualOne) {
  workload_.ports.clear();
  EXPECT_EQ(front_ports(scaler_, workload_)[0].port, 80);
}

TEST_F(ServicePlanTest, OnesOfOursFollowsItsPorts) {
  front_.owner = {"RequestScaler", "web", "uid-1"};
  front_.ports = front_ports(scaler_, workload_);
  EXPECT_TRUE(plan_service(view()).steps.empty());

  scaler_.service.ports = {{"http", 8088}};

  EXPECT_EQ(plan_service(view()).steps, Steps{Step::correct_front});
}

// --- present without selector ---

TEST_F(ServicePlanTest, OfOneWithoutASelectorNothingButItsSlicesIsManaged) {
  front_.ports = {{"other", 1234, "1", "", "TCP"}};

  const ServicePlan plan = plan_service(view());

  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(plan.routes);
  EXPECT_EQ(reason(plan), "");
}

TEST_F(ServicePlanTest, DeletionOfTheScalerLeavesItAsItIs) {
  scaler_.terminating = true;
  EXPECT_TRUE(plan_service(view()).steps.empty());
}

TEST_F(ServicePlanTest, APortThatTheServiceDoesNotHaveIsNamedAndRequestsPassUsBy) {
  scaler_.service.port = "htpp";
  const ServicePlan plan = plan_service(view());
  EXPECT_EQ(reason(plan), "ServicePortMissing");
  EXPECT_TRUE(plan.passed_by);
  EXPECT_TRUE(plan.routes) << "a port that was renamed would lead nowhere";
  ServiceView before = adopting();
  EXPECT_EQ(reason(plan_service(before)), "ServicePortMissing");
  EXPECT_TRUE(plan_service(before).steps.empty());

  scaler_.service.port = "http";

  EXPECT_EQ(plan_service(before).steps, Steps{Step::adopt_front});
}

TEST_F(ServicePlanTest, AServiceOfOursGetsThePortThatItLacks) {
  front_.owner = {"RequestScaler", "web", "uid-1"};
  scaler_.service.ports = {{"api", 80}};
  scaler_.service.port = "api";

  const ServicePlan plan = plan_service(view());

  EXPECT_EQ(plan.steps, Steps{Step::correct_front});
  EXPECT_TRUE(plan.passed_by) << "until it has";
}

// --- routed ---

TEST_F(ServicePlanTest, NothingIsCalledRoutedBeforeTheServiceAndItsFirstSlicesAreSeen) {
  ServiceView first = view();
  first.has_slices = false;
  first.slices_stand = false;
  ServiceView absent = first;
  absent.front = nullptr;
  for (const ServiceView& each : {absent, first}) {
    const ServicePlan plan = plan_service(each);
    EXPECT_EQ(reason(plan), "Routing");
    EXPECT_TRUE(plan.trouble->waiting);
    EXPECT_TRUE(plan.routes);
  }

  first.has_slices = true;
  EXPECT_EQ(reason(plan_service(first)), "") << "they are rewritten whenever a pod comes or goes";
}

TEST_F(ServicePlanTest, WhereNoEndpointIsWantedNoneIsWaitedFor) {
  ServiceView empty = view();
  empty.has_slices = false;
  EXPECT_EQ(reason(plan_service(empty)), "");
}

// --- present with a selector ---

TEST_F(ServicePlanTest, OneWithASelectorIsRefusedWithTheTwoWaysOut) {
  front_.selector = {{"app", "web"}};
  ServiceView selecting = view();
  selecting.has_slices = false;

  const ServicePlan plan = plan_service(selecting);

  EXPECT_EQ(reason(plan), "ServiceHasSelector");
  EXPECT_NE(plan.trouble->fix.find("spec.selector"), std::string::npos);
  EXPECT_NE(plan.trouble->fix.find("spec.service.adopt: true"), std::string::npos);
  EXPECT_FALSE(plan.routes);
}

TEST_F(ServicePlanTest, UntilSlicesOfOursBelongToOneWithASelectorRequestsPassUsBy) {
  ServiceView waiting = adopting();
  waiting.injected_ready = 1;
  waiting.has_slices = false;
  ServiceView taken = adopting();
  EXPECT_EQ(reason(plan_service(waiting)), "AdoptionWaits");
  EXPECT_TRUE(plan_service(waiting).passed_by);
  EXPECT_FALSE(plan_service(taken).passed_by);

  scaler_.service.adopt = false;

  EXPECT_EQ(reason(plan_service(waiting)), "ServiceHasSelector");
  EXPECT_TRUE(plan_service(waiting).passed_by);
}

TEST_F(ServicePlanTest, AdoptionRunsInItsOrder) {
  ServiceView ready = adopting();

  scaler_.finalizers.clear();
  EXPECT_EQ(plan_service(ready).steps, Steps{Step::add_finalizer});
  scaler_.finalizers = {std::string{kFinalizer}};

  ready.injected_ready = 1;
  ready.has_slices = false;
  ServicePlan plan = plan_service(ready);
  EXPECT_EQ(reason(plan), "AdoptionWaits");
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_FALSE(plan.routes) << "no slice before every pod has a sidecar";
  ready.injected_ready = 2;
  ready.has_slices = true;

  ready.pods = nullptr;
  EXPECT_EQ(plan_service(ready).steps, Steps{Step::apply_pods});
  ready.pods = &pods_;

  ready.slices_stand = false;
  plan = plan_service(ready);
  EXPECT_TRUE(plan.routes);
  EXPECT_TRUE(plan.steps.empty());
  ready.slices_stand = true;

  EXPECT_EQ(plan_service(ready).steps, Steps{Step::adopt_front});
}

TEST_F(ServicePlanTest, AWorkloadThatSleepsCanBeAdopted) {
  ServiceView ready = adopting();
  workload_.replicas = 0;
  workload_.status_ready = 0;
  ready.injected_ready = 0;

  EXPECT_EQ(plan_service(ready).steps, Steps{Step::adopt_front});
}

TEST_F(ServicePlanTest, WhatTheSelectorLeftBehindIsSwept) {
  ServiceView after = adopting();
  front_.selector.clear();
  after.original = OriginalService{"web", {{"app", "web"}}, {}};

  const ServicePlan plan = plan_service(after);

  EXPECT_EQ(plan.steps, Steps{Step::sweep_leftovers});
  EXPECT_TRUE(plan.adopted);
  EXPECT_TRUE(plan.routes);
}

TEST_F(ServicePlanTest, ASelectorThatComesBackIsReportedAndNotFoughtOver) {
  ServiceView after = adopting();
  after.original = OriginalService{"web", {{"app", "web"}}, {}};

  const ServicePlan plan = plan_service(after);

  EXPECT_EQ(reason(plan), "ServiceContested");
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(plan.routes) << "activators stay behind it, for when no pod is there";
}

TEST_F(ServicePlanTest, DeletionPutsBackWhatWasAdoptedBeforeTheScalerGoes) {
  ServiceView ending = adopting();
  scaler_.terminating = true;
  front_.selector.clear();
  ending.original = OriginalService{"web", {{"app", "web"}}, {}};
  EXPECT_EQ(plan_service(ending).steps, Steps{Step::restore_front});

  ending.original.reset();
  ending.left_behind = true;
  EXPECT_TRUE(plan_service(ending).steps.empty()) << "another one is given back first";
  ending.left_behind = false;
  EXPECT_EQ(plan_service(ending).steps, Steps{Step::remove_finalizer});
  ending.front = nullptr;
  EXPECT_EQ(plan_service(ending).steps, Steps{Step::remove_finalizer});
}

// --- another owner's ---

TEST_F(ServicePlanTest, AServiceOfAnotherScalerIsContested) {
  front_.owner = {"RequestScaler", "other", "uid-2"};
  EXPECT_EQ(reason(plan_service(view())), "ServiceContested");

  ServiceView second = view();
  second.rival = RevisionId{"shop", "another"};
  EXPECT_EQ(reason(plan_service(second)), "ServiceContested");
}

TEST_F(ServicePlanTest, APrivateServiceThatIsSomebodyElsesIsLeftAlone) {
  pods_.owner = {};
  pods_.labels.clear();

  const ServicePlan plan = plan_service(view());

  EXPECT_EQ(reason(plan), "ServiceContested");
  EXPECT_TRUE(plan.steps.empty());
}

TEST_F(ServicePlanTest, AnExternalNameCannotBeRouted) {
  front_.type = "ExternalName";
  EXPECT_EQ(reason(plan_service(view())), "ServiceUnsupported");
}

// --- the private one ---

TEST_F(ServicePlanTest, ThePrivateServiceFollowsTheSelectorOfTheTarget) {
  EXPECT_TRUE(plan_service(view()).steps.empty());

  workload_.selector.labels = {{"app", "shop"}};

  EXPECT_EQ(plan_service(view()).steps, Steps{Step::apply_pods});
}

TEST_F(ServicePlanTest, ItSelectsPodsWithASidecarOnly) {
  EXPECT_EQ(pods_selector(workload_),
            (kube::StringMap{{"app", "web"}, {"sluice.dev/sidecar", "queue-proxy"}}));
}

TEST_F(ServicePlanTest, ItsNameFitsHoweverLongTheScalersIs) {
  EXPECT_EQ(pods_name({"shop", "web"}), "web-private");
  const std::string long_name = pods_name({"shop", std::string(63, 'a')});
  EXPECT_EQ(long_name.size(), 63U);
  EXPECT_NE(long_name, pods_name({"shop", std::string(62, 'a')}));
}

TEST_F(ServicePlanTest, WithoutATargetWhatIsThereStays) {
  ServiceView lost = view();
  lost.workload = nullptr;
  const ServicePlan plan = plan_service(lost);
  EXPECT_TRUE(plan.steps.empty());
  EXPECT_TRUE(plan.routes);
}

}  // namespace
}  // namespace sluice::autoscaler
