#include "programs/autoscaler/config.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

namespace sluice::autoscaler {
namespace {

Result<Config, Problem> read(const std::map<std::string, std::string>& variables) {
  return read_config([&variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string wrong(std::map<std::string, std::string> variables) {
  variables.emplace("SLUICE_PLATFORM", "dir:/p");
  const auto config = read(variables);
  return config ? "" : config.error().text();
}

TEST(AutoscalerConfig, NeedsAPlatformAndNothingElse) {
  const auto config = read({{"SLUICE_PLATFORM", "dir:/some/where"}});

  ASSERT_TRUE(config.has_value()) << config.error().text();
  EXPECT_EQ(config->platform_path, "/some/where");
  EXPECT_EQ(config->name, "autoscaler");
  EXPECT_EQ(config->ready_fd, -1);
}

TEST(AutoscalerConfig, BesideADirectoryDoorsWithoutAProofAreOnLoopback) {
  const auto config = read({{"SLUICE_PLATFORM", "dir:/some/where"}});
  EXPECT_EQ(config->stats->text(), "127.0.0.1:8080");
  EXPECT_EQ(config->grpc.text(), "127.0.0.1:8081");
  EXPECT_EQ(config->api.text(), "127.0.0.1:8082");
  EXPECT_EQ(config->metrics.text(), "127.0.0.1:9090");

  const auto proven = read({{"SLUICE_PLATFORM", "dir:/some/where"},
                            {"SLUICE_TLS_DIR", "/certs"},
                            {"SLUICE_API_ADDRESS", ":8082"}});
  EXPECT_EQ(proven->grpc.text(), ":8081");
  EXPECT_EQ(proven->api.text(), ":8082");
}

std::map<std::string, std::string> pod(std::map<std::string, std::string> more = {}) {
  more.insert({{"POD_NAME", "a"}, {"POD_IP", "10.0.0.1"}, {"SYSTEM_NAMESPACE", "here"}});
  return more;
}

TEST(AutoscalerConfig, OnKubernetesTheWebSocketIsThereBesideKnativeOnly) {
  EXPECT_FALSE(read(pod())->stats);
  EXPECT_EQ(read(pod())->grpc.text(), ":8081");
  EXPECT_EQ(read(pod({{"SLUICE_STATS_RELAY", "knative:8080"}}))->stats->text(), ":8080");
  EXPECT_EQ(read(pod({{"SLUICE_SHADOW", "true"}}))->stats->text(), ":8080");
  EXPECT_EQ(read(pod({{"SLUICE_STATS_ADDRESS", ":1"}}))->stats->text(), ":1");
  EXPECT_FALSE(read(pod({{"SLUICE_SHADOW", "true"}, {"SLUICE_STATS_ADDRESS", ""}}))->stats);
}

TEST(AutoscalerConfig, ASecretNeedsADirectoryAndKubernetes) {
  EXPECT_NE(read(pod({{"SLUICE_TLS_SECRET", "s"}})).error().text().find("SLUICE_TLS_DIR"),
            std::string::npos);
  EXPECT_EQ(read(pod({{"SLUICE_TLS_SECRET", "a/b"}, {"SLUICE_TLS_DIR", "/d"}})).error().text(),
            "SLUICE_TLS_SECRET='a/b' is wrong; give the name of a Secret");
  EXPECT_NE(wrong({{"SLUICE_TLS_SECRET", "s"}, {"SLUICE_TLS_DIR", "/d"}}).find("SLUICE_PLATFORM"),
            std::string::npos);
  EXPECT_EQ(read(pod({{"SLUICE_TLS_SECRET", "s"}, {"SLUICE_TLS_DIR", "/d"}}))->tls_secret, "s");
}

TEST(AutoscalerConfig, TheEnrolmentDoorIsOpenWithASigningSecret) {
  const auto with = read(pod({{"SLUICE_TLS_SECRET", "s"}, {"SLUICE_TLS_DIR", "/d"}}));
  EXPECT_EQ(with->enroll->text(), ":8083");
  EXPECT_FALSE(read(pod())->enroll);
  EXPECT_NE(read(pod({{"SLUICE_ENROLL_ADDRESS", ":1"}})).error().text().find("SLUICE_TLS_SECRET"),
            std::string::npos);
}

TEST(AutoscalerConfig, KubernetesIsTheDefaultAndNeedsTheNameOfItsOwnPod) {
  std::map<std::string, std::string> pod{{"POD_NAME", "autoscaler-a"}, {"POD_IP", "10.0.0.1"}};
  EXPECT_EQ(read(pod).error().text(),
            "SYSTEM_NAMESPACE is not set, and SLUICE_PLATFORM is kubernetes; set it from "
            "metadata.namespace in the pod spec, or SLUICE_PLATFORM=dir:PATH to follow files");

  pod["SYSTEM_NAMESPACE"] = "sluice-system";
  const auto config = read(pod);

  ASSERT_TRUE(config.has_value()) << config.error().text();
  EXPECT_EQ(config->name, "autoscaler-a");
  EXPECT_EQ(config->pod_address, "10.0.0.1");
  EXPECT_EQ(config->system_space, "sluice-system");
  EXPECT_TRUE(config->platform_path.empty());
}

TEST(AutoscalerConfig, AnInvalidNamespaceIsRefused) {
  const auto config =
      read({{"POD_NAME", "a"}, {"POD_IP", "10.0.0.1"}, {"SYSTEM_NAMESPACE", "a/../b"}});
  EXPECT_EQ(config.error().text(),
            "SYSTEM_NAMESPACE='a/../b' is wrong; give the name of a namespace");
}

TEST(AutoscalerConfig, ADirectoryNeedsAPath) {
  EXPECT_EQ(wrong({{"SLUICE_PLATFORM", "dir:"}}),
            "SLUICE_PLATFORM='dir:' is wrong; give kubernetes or dir:PATH");
}

TEST(AutoscalerConfig, EveryWrongValueNamesItsVariable) {
  for (const char* name : {"SLUICE_STATS_ADDRESS", "SLUICE_GRPC_ADDRESS", "SLUICE_API_ADDRESS",
                           "SLUICE_METRICS_ADDRESS", "SLUICE_LOG_LEVEL", "SLUICE_READY_FD"}) {
    EXPECT_EQ(wrong({{name, "no such"}}).rfind(name, 0), 0U) << name;
  }
  EXPECT_EQ(wrong({{"POD_NAME", std::string(254, 'a')}}).rfind("POD_NAME", 0), 0U);
}

}  // namespace
}  // namespace sluice::autoscaler
