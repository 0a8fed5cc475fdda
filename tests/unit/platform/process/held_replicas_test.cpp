// Goal: a replica without requests may be held, and is let go before the next request reaches it
// and before it ends. Method: as in process_platform_test.cpp.

#include "tests/unit/platform/process/process_stage.h"

#include <array>

namespace sluice::local {
namespace {

class HeldReplicas : public ProcessStage {
 protected:
  static constexpr const char* kAddress = "unix:/run/app-00001-1/http";

  ProcessRevision& revision() { return *platform_.revision({"default", "app-00001"}); }

  [[nodiscard]] bool hold(bool held = true) {
    MemoryTenant& tenant = revision();
    return tenant.on_held("app-00001-1", held);
  }

  TenantReplica seen() {
    const MemoryTenant& tenant = revision();
    return tenant.replicas().at(0);
  }
};

TEST_F(HeldReplicas, TheReplicaRunsOnBeforeItsNextRequest) {
  serve_by_one();
  EXPECT_TRUE(hold());
  EXPECT_TRUE(replica("app-00001-1").held);
  EXPECT_TRUE(revision().held({"app-00001-1"}));
  EXPECT_EQ(requests_.announced, std::set<std::string>{kAddress});
  EXPECT_EQ(said("app-00001"), "serves 1 ready 0 starting 0 leaving");

  revision().on_request(kAddress);

  EXPECT_FALSE(replica("app-00001-1").held);
  EXPECT_TRUE(requests_.announced.empty());
}

TEST_F(HeldReplicas, AReplicaWithARequestIsNotHeld) {
  serve_by_one();
  requests_.on_pods["app-00001-1"] = 1;

  EXPECT_TRUE(seen().busy);
  EXPECT_FALSE(hold());

  EXPECT_FALSE(replica("app-00001-1").held);
  EXPECT_TRUE(requests_.announced.empty());
}

TEST_F(HeldReplicas, AReplicaIsNotHeldWhileARequestWaitsForOne) {
  serve_by_one();
  requests_.held["app-00001"] = 1;

  EXPECT_TRUE(seen().busy);
  EXPECT_FALSE(hold());
}

TEST_F(HeldReplicas, AReplicaThatStartsIsNotHeld) {
  put(spec());
  order("app-00001", 1);

  EXPECT_FALSE(hold());

  EXPECT_FALSE(replica("app-00001-1").held);
}

TEST_F(HeldReplicas, AReplicaThatLeavesIsLetGoBeforeItIsStopped) {
  serve_by_one();
  EXPECT_TRUE(hold());

  order("app-00001", 0, {{"app-00001-1"}});

  EXPECT_FALSE(replica("app-00001-1").held);
  EXPECT_EQ(replica("app-00001-1").stopped, 0);
  EXPECT_TRUE(requests_.announced.empty());
  EXPECT_FALSE(hold()) << "nor is it held again";
}

TEST_F(HeldReplicas, AReplicaThatEndsWhileItIsHeldLeavesNoAnnouncement) {
  serve_by_one();
  EXPECT_TRUE(hold());

  replica("app-00001-1").exits();
  replica("app-00001-1").is_gone();
  turn();

  EXPECT_TRUE(requests_.announced.empty());
  EXPECT_TRUE(hold(false));
}

TEST_F(HeldReplicas, AProbeAFixedPortAndHttp2AreReasonsAgainstAHold) {
  serve_by_one();
  EXPECT_TRUE(seen().holdable);
  std::array<ServiceSpec, 3> specs{spec(), spec(), spec()};
  specs[0].liveness = HealthProbe{};
  specs[1].fixed_port = 8080;
  specs[2].h2c = true;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    put(specs[i]);
    const std::string revision = fmt::format("app-0000{}", i + 2);
    order(revision, 1);
    const MemoryTenant& tenant = *platform_.revision({"default", revision});
    ASSERT_EQ(tenant.replicas().size(), 1U) << revision;
    EXPECT_FALSE(tenant.replicas()[0].holdable) << revision;
  }
}

}  // namespace
}  // namespace sluice::local
