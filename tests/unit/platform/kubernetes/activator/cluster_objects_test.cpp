#include "platform/kubernetes/activator/io/cluster_objects.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::activator {
namespace {

using namespace std::chrono_literals;

const kube::ObjectName kCart{"shop", "cart"};

TEST(ClusterObjects, ReadsTheRequestSettingsOfAScaler) {
  kube::RequestScaler scaler;
  scaler.protocol = "h2c";
  scaler.container_concurrency = 4;
  scaler.timeout_seconds = 30;
  scaler.response_start_timeout_seconds = 5;
  scaler.idle_timeout_seconds = 7;
  scaler.status.activator_port = 20'123;
  scaler.scaling = {{"sluice.dev/load-balancing", "round-robin"}};

  const ServingSpec spec = spec_of(kCart, scaler);

  EXPECT_TRUE(spec.h2c);
  EXPECT_EQ(spec.container_concurrency, 4);
  EXPECT_EQ(spec.timeout, 30s);
  EXPECT_EQ(spec.response_start_timeout, 5s);
  EXPECT_EQ(spec.idle_timeout, 7s);
  EXPECT_EQ(spec.port, 20'123);
  EXPECT_EQ(spec.annotations.at("sluice.dev/load-balancing"), "round-robin");
}

TEST(ClusterObjects, NamesAScalerByTheServiceThatItScales) {
  kube::RequestScaler scaler;
  EXPECT_EQ(spec_of(kCart, scaler).service, "cart");

  scaler.service.name = "basket";

  EXPECT_EQ(spec_of(kCart, scaler).service, "basket");
}

TEST(ClusterObjects, SkipsAPortThatBelongsToNoScaler) {
  kube::RequestScaler scaler;
  scaler.status.activator_port = 8012;

  EXPECT_EQ(spec_of(kCart, scaler).port, 0);
}

TEST(ClusterObjects, ClampsUnvalidatedValuesToTheirRanges) {
  kube::RequestScaler scaler;
  scaler.container_concurrency = -3;
  scaler.timeout_seconds = 0;
  scaler.idle_timeout_seconds = -1;

  const ServingSpec spec = spec_of(kCart, scaler);

  EXPECT_EQ(spec.container_concurrency, 0);
  EXPECT_EQ(spec.timeout, 1s);
  EXPECT_EQ(spec.idle_timeout, 0s);
}

TEST(ClusterObjects, GivesIgnoreRulesAsAnnotationsOneALine) {
  kube::RequestScaler scaler;
  scaler.ignore_paths = {"/healthz", "/metrics*"};

  const ServingSpec spec = spec_of(kCart, scaler);

  EXPECT_EQ(spec.annotations.at("autoscaling.sluice.dev/ignore-paths"), "/healthz\n/metrics*");
  EXPECT_FALSE(spec.annotations.contains("autoscaling.sluice.dev/ignore-user-agents"));
}

TEST(ClusterObjects, SendsNothingNewToAPodThatHasEnded) {
  kube::Pod pod;
  pod.ip = "10.0.0.1";
  pod.ready = true;
  pod.phase = "Failed";

  const ClusterPod kept = pod_of(pod);

  EXPECT_FALSE(kept.ready);
  EXPECT_TRUE(kept.terminating);
}

TEST(ClusterObjects, FindsTheScalerOfAPrivateServiceByItsOwnerElseByItsLabel) {
  kube::Service service;
  service.selector = {{"app", "cart"}};
  service.labels = {{"sluice.dev/scaler", "cart"}};
  EXPECT_EQ(selection_of({"shop", "cart-private"}, service)->revision,
            (RevisionId{"shop", "cart"}));

  service.owner = {"RequestScaler", "a-longer-name", ""};

  EXPECT_EQ(selection_of({"shop", "cart-private"}, service)->revision,
            (RevisionId{"shop", "a-longer-name"}));
  EXPECT_FALSE(selection_of({"shop", "x"}, kube::Service{}));
}

TEST(ClusterObjects, KeepsTheOwnerAndAddressOfAPrivateService) {
  kube::Service service;
  service.labels = {{"serving.knative.dev/revision", "cart-1"}};
  service.cluster_ip = "10.2.0.1";
  service.ports.resize(2);
  service.ports[0].name = "http";
  service.ports[0].port = 80;
  service.ports[1].name = "http-usermetric";

  EXPECT_EQ(private_service_of({"shop", "x"}, service),
            (PrivateService{{"shop", "cart-1"}, "10.2.0.1", {{"http", 80}}}));

  service.owner = {"RequestScaler", "cart", ""};
  EXPECT_EQ(private_service_of({"shop", "x"}, service)->revision, (RevisionId{"shop", "cart"}));

  service.cluster_ip = "None";
  EXPECT_FALSE(private_service_of({"shop", "x"}, service));
}

TEST(ClusterObjects, KeepsThePortsAndAddressesOfASlice) {
  kube::EndpointSlice slice;
  slice.address_type = "IPv6";
  slice.labels = {{"serving.knative.dev/revision", "cart-1"}};
  slice.ports = {{"http", 8012, ""}};
  slice.endpoints = {{"2001:db8::1", true, true, false, "cart-1-x", "n1"}};

  const ClusterSlice kept = slice_of({"shop", "s"}, slice);

  EXPECT_EQ(kept.revision, (RevisionId{"shop", "cart-1"}));
  EXPECT_EQ(kept.ports, (std::vector<SlicePort>{{"http", 8012}}));
  EXPECT_EQ(kept.endpoints, (std::vector<SliceEndpoint>{{"2001:db8::1", "cart-1-x", true, false}}));
}

TEST(ClusterObjects, IgnoresEndpointsWithAHostName) {
  kube::EndpointSlice slice;
  slice.address_type = "FQDN";
  slice.endpoints = {{"example.com", true, true, false, "", ""}};

  EXPECT_TRUE(slice_of({"shop", "s"}, slice).endpoints.empty());
}

TEST(ClusterObjects, NamesAPodOfIPv6WithBrackets) {
  ClusterRevision revision{.id = {"shop", "cart"}, .spec = {}, .pods = {}};
  revision.pods = {{.name = "a", .ip = "2001:db8::1", .port = 8012, .fast_ready = false}};
  revision.service = ServiceAddress{"2001:db8::2", 80, 443};

  const model::Revision file = file_of(revision);

  ASSERT_EQ(file.pods.size(), 1U);
  EXPECT_EQ(file.pods[0].address->text(), "[2001:db8::1]:8012");
  EXPECT_FALSE(file.pods[0].fast_ready);
  EXPECT_EQ(file.private_service->text(), "[2001:db8::2]:80");
  EXPECT_EQ(file.private_service_tls_port, 443);
}

std::string knative(const std::string& containers, const std::string& more = "") {
  return R"({"metadata": {"name": "cart-1", "namespace": "shop", "labels": {)"
         R"("serving.knative.dev/service": "cart", "serving.knative.dev/configuration": "cart"}},)"
         R"("spec": {"containers": [)" +
         containers + "]" + more + "}}";
}

TEST(KnativeRevision, IsReadAsFarAsRequestsNeedIt) {
  const auto spec = decode_knative_revision(
      knative(R"({"name": "user-container", "ports": [{"name": "h2c", "containerPort": 8080}]})",
              R"(, "containerConcurrency": 10, "timeoutSeconds": 60,)"
              R"("responseStartTimeoutSeconds": 3, "idleTimeoutSeconds": 4)"));

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->service, "cart");
  EXPECT_EQ(spec->configuration, "cart");
  EXPECT_TRUE(spec->h2c);
  EXPECT_EQ(spec->container_concurrency, 10);
  EXPECT_EQ(spec->timeout, 60s);
  EXPECT_EQ(spec->response_start_timeout, 3s);
  EXPECT_EQ(spec->idle_timeout, 4s);
  EXPECT_TRUE(spec->fast_ready);
  EXPECT_EQ(spec->port, 0);
}

// activator.md 12, rows 47 and 48.
TEST(KnativeRevision, UsesItsSidecarFirstUnlessAProbeOfAnotherKindDecides) {
  const auto fast = [](const std::string& containers) {
    return decode_knative_revision(knative(containers))->fast_ready;
  };

  EXPECT_TRUE(fast(R"({"name": "a", "readinessProbe": {"httpGet": {"path": "/"}}})"));
  EXPECT_FALSE(fast(R"({"name": "a", "readinessProbe": {"exec": {"command": ["true"]}}})"));
  EXPECT_FALSE(fast(R"({"name": "a", "startupProbe": {"httpGet": {"path": "/"}}})"));
  EXPECT_FALSE(fast(R"({"name": "a", "ports": [{"containerPort": 80}]},)"
                    R"({"name": "b", "startupProbe": {"tcpSocket": {}}})"));
  EXPECT_TRUE(fast(R"({"name": "a", "ports": [{"containerPort": 80}]},)"
                   R"({"name": "b", "readinessProbe": {"exec": {"command": ["true"]}}})"));
}

TEST(KnativeRevision, IsAbsentWhenMalformed) {
  EXPECT_FALSE(decode_knative_revision(""));
  EXPECT_FALSE(decode_knative_revision("[]"));
  EXPECT_FALSE(decode_knative_revision(R"({"metadata": {}, "spec": {}})"));
  EXPECT_FALSE(decode_knative_revision(R"({"metadata": {"name": "a"}})"));
  EXPECT_FALSE(decode_knative_revision(std::string(100'000, '[')));
}

TEST(KnativeRevision, TakesTheDefaultsWhereFieldsAreOfAnotherType) {
  const auto spec = decode_knative_revision(
      R"({"metadata": {"name": "a"}, "spec": {"containers": 3, "timeoutSeconds": "x",)"
      R"("containerConcurrency": -1}})");

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->timeout, 300s);
  EXPECT_EQ(spec->container_concurrency, 0);
}

}  // namespace
}  // namespace sluice::activator
