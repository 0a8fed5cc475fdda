#include "platform/kubernetes/activator/core/replica_slices.h"

#include <gtest/gtest.h>

#include "platform/kubernetes/activator/core/service_target.h"

namespace sluice::activator {
namespace {

using Ips = std::vector<std::string>;

const ClusterName kFirst{"sluice-system", "autoscaler-a"};
const ClusterName kSecond{"sluice-system", "autoscaler-b"};

ClusterSlice slice(const Ips& ips, bool ready = true) {
  ClusterSlice made;
  for (const std::string& ip : ips) made.endpoints.push_back({ip, {}, ready, !ready});
  return made;
}

TEST(ReplicaSlices, ReportsEveryAddressOfAllSlicesOnceAndInOrder) {
  ReplicaSlices replicas;
  replicas.set(kFirst, slice({"10.0.0.2", "10.0.0.1"}));
  replicas.set(kSecond, slice({"10.0.0.2", "10.0.0.3"}));

  EXPECT_EQ(replicas.settle(), (Ips{"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
  EXPECT_EQ(replicas.settle(), std::nullopt);
  EXPECT_EQ(replicas.addresses(), (Ips{"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
}

TEST(ReplicaSlices, KeepsAReplicaThatIsNotReadyOrLeavesSinceItMayOwnBuckets) {
  ReplicaSlices replicas;
  replicas.set(kFirst, slice({"10.0.0.1"}));
  (void)replicas.settle();

  replicas.set(kFirst, slice({"10.0.0.1"}, false));

  EXPECT_EQ(replicas.settle(), std::nullopt);
}

TEST(ReplicaSlices, KeepsTheLastAddressesWhileThereAreNone) {
  ReplicaSlices replicas;
  EXPECT_EQ(replicas.settle(), std::nullopt);
  replicas.set(kFirst, slice({"10.0.0.1"}));
  (void)replicas.settle();

  replicas.drop(kFirst);
  EXPECT_EQ(replicas.settle(), std::nullopt);
  EXPECT_EQ(replicas.addresses(), (Ips{"10.0.0.1"}));

  replicas.set(kFirst, slice({"10.0.0.9"}));
  EXPECT_EQ(replicas.settle(), (Ips{"10.0.0.9"}));
}

TEST(ReplicaSlices, ReportsNoMoreThanItsLimit) {
  Ips many;
  for (int n = 100; n < 200; ++n) many.push_back("10.0.0." + std::to_string(n));
  ReplicaSlices replicas;
  replicas.set(kFirst, slice(many));

  EXPECT_EQ(replicas.settle()->size(), ReplicaSlices::kAddressesMax);
}

TEST(ServiceTarget, SplitsAServiceNameOfTheClustersDns) {
  EXPECT_EQ(service_target("autoscaler.sluice-system.svc:8081"),
            (ServiceTarget{"autoscaler", "sluice-system", "autoscaler.sluice-system.svc", 8081}));
  EXPECT_EQ(service_target("a.b.svc.cluster.local:1"),
            (ServiceTarget{"a", "b", "a.b.svc.cluster.local", 1}));
}

TEST(ServiceTarget, RefusesOtherNames) {
  for (const char* target :
       {"", ":8081", "autoscaler:8081", "autoscaler.sluice-system:8081", "a.b.svcs:1", ".b.svc:1",
        "a..svc:1", "a.b.svc", "a.b.svc:", "a.b.svc:0", "a.b.svc:65536", "a.b.svc:1x", "10.0.0.1:1",
        "[fd00::1]:1", "unix:/run/a.b.svc:1", "autoscaler.example.com:8081"}) {
    EXPECT_EQ(service_target(target), std::nullopt) << target;
  }
}

}  // namespace
}  // namespace sluice::activator
