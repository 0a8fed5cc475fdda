#include "common/kube/objects.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::kube {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20U;
constexpr std::int64_t kSidecarMi = 16;  // what the injector adds
constexpr std::int64_t kSidecarCpu = 25;

// In Mi, and -1 where there is none.
std::int64_t memory(const std::string& pod_spec) {
  const auto workload =
      decode_workload(R"({"metadata":{"name":"d"},"spec":{"template":{"spec":)" + pod_spec + "}}}");
  const auto claim = workload->claim_memory;
  return claim ? *claim / kMi : -1;
}

std::int64_t cpu(const std::string& pod_spec) {
  const auto workload =
      decode_workload(R"({"metadata":{"name":"d"},"spec":{"template":{"spec":)" + pod_spec + "}}}");
  return workload->claim_cpu.value_or(-1);
}

std::string container(const std::string& resources, const std::string& more = {}) {
  return R"({"name":"app","resources":)" + resources + more + "}";
}

std::string pod(const std::string& containers, const std::string& init = {}) {
  return R"({"containers":[)" + containers + R"(],"initContainers":[)" + init + "]}";
}

std::string limit(const std::string& quantity) {
  return R"({"limits":{"memory":")" + quantity + R"("}})";
}

std::string request(const std::string& quantity) {
  return R"({"requests":{"memory":")" + quantity + R"("}})";
}

const std::string kNone = "{}";
const std::string kStays = R"(,"restartPolicy":"Always")";

TEST(PodClaim, IsTheLimitElseTheRequestAndTheSidecarThatIsAdded) {
  EXPECT_EQ(memory(pod(container(limit("128Mi")))), 128 + kSidecarMi);
  EXPECT_EQ(memory(pod(container(request("64Mi")))), 64 + kSidecarMi);
  EXPECT_EQ(memory(pod(container(R"({"limits":{"memory":"1Gi"},"requests":{"memory":"64Mi"}})"))),
            1024 + kSidecarMi);
}

TEST(PodClaim, IsAbsentWithoutResourcesOfAnyContainer) {
  EXPECT_EQ(memory(pod(container(kNone))), -1);
  EXPECT_EQ(memory(pod("")), -1);
  EXPECT_EQ(memory("{}"), -1);
  EXPECT_EQ(memory(pod(container(R"({"limits":{"cpu":"1"}})"))), -1);
  EXPECT_EQ(memory(pod(container(limit("0")))), -1);
  EXPECT_EQ(memory(pod(container(limit("much")))), -1);
  EXPECT_EQ(memory(R"({"containers":[7,{"resources":[]},{"resources":{"limits":{"memory":5}}}]})"),
            -1);
  EXPECT_EQ(cpu(pod(container(limit("1Gi")))), -1);
}

TEST(PodClaim, IsAbsentIfOnlyTheSidecarHasResources) {
  const std::string sidecar =
      R"({"name":"queue-proxy","resources":{"limits":{"memory":"32Mi"},"requests":{"cpu":"25m"}}})";

  EXPECT_EQ(memory(pod(container(kNone) + "," + sidecar)), -1);
  EXPECT_EQ(cpu(pod(container(kNone) + "," + sidecar)), -1);
  EXPECT_EQ(memory(pod(container(limit("64Mi")) + "," + sidecar)), 96) << "no other is added";
  EXPECT_EQ(
      memory(pod(container(limit("64Mi")), R"({"name":"queue-proxy","restartPolicy":"Always"})")),
      64);
}

TEST(PodClaim, AddsContainersUp) {
  EXPECT_EQ(memory(pod(container(limit("100Mi")) + "," + container(request("0.5Gi")) + "," +
                       container(kNone))),
            612 + kSidecarMi);
}

TEST(PodClaim, CountsAnInitContainerThatEndsOnlyWhereItNeedsMoreThanTheRest) {
  const std::string app = container(limit("100Mi"));

  EXPECT_EQ(memory(pod(app, container(limit("50Mi")))), 100 + kSidecarMi);
  EXPECT_EQ(memory(pod(app, container(limit("500Mi")))), 500);
  EXPECT_EQ(memory(pod(container(kNone), container(limit("50Mi")))), 50);
}

TEST(PodClaim, CountsAnInitContainerThatStaysBesideTheRest) {
  const std::string app = container(limit("100Mi"));
  const std::string stays = container(limit("30Mi"), kStays);
  const std::string ends = container(limit("120Mi"));

  EXPECT_EQ(memory(pod(app, stays)), 130 + kSidecarMi);
  EXPECT_EQ(memory(pod(app, stays + "," + ends)), 150) << "they run together";
  EXPECT_EQ(memory(pod(app, ends + "," + stays)), 130 + kSidecarMi);
}

TEST(PodClaim, OfThePodAsAWholeWinsOverItsContainers) {
  const std::string spec = R"({"resources":{"limits":{"memory":"1Gi"}},"containers":[)" +
                           container(R"({"limits":{"memory":"8Mi","cpu":"100m"}})") + "]}";

  EXPECT_EQ(memory(spec), 1024);
  EXPECT_EQ(cpu(spec), 100) << "the injector gives its sidecar nothing there";
}

TEST(PodClaim, ReadsCpuInThousandths) {
  const auto of = [](const std::string& quantity) {
    return cpu(pod(container(R"({"limits":{"cpu":")" + quantity + R"("}})")));
  };

  EXPECT_EQ(of("250m"), 250 + kSidecarCpu);
  EXPECT_EQ(of("2"), 2000 + kSidecarCpu);
  EXPECT_EQ(of("0.1"), 100 + kSidecarCpu);
}

TEST(PodClaim, StaysWithinItsType) {
  const std::string huge = container(limit("7Ei"));

  EXPECT_GT(memory(pod(huge + "," + huge)), 0);
}

}  // namespace
}  // namespace sluice::kube
