#pragma once

#include "common/metrics/exposition.h"
#include "tests/unit/common/files/scratch_directory.h"
#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

#include "platform/kubernetes/io/cluster_platforms.h"
#include <optional>
#include <string>

namespace sluice::autoscaler::testing {

/// Collections of all namespaces.
inline constexpr const char* kScalers = "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers";
inline constexpr const char* kDeployments = "/apis/apps/v1/deployments";
inline constexpr const char* kServices = "/api/v1/services";
inline constexpr const char* kPods = "/api/v1/pods";

/// Gets revisions and ignores them.
class NoListener final : public model::Listener {
 public:
  void on_revision(model::Revision /*revision*/) override {}

  void on_revision_gone(const RevisionId& /*revision*/) override {}

  void on_revision_released(const RevisionId& /*revision*/) override {}

  [[nodiscard]] std::optional<Problem> on_config(const StringMap& /*config*/) override {
    return std::nullopt;
  }
};

/// The platforms of a cluster on an API server that a test plays.
class PlatformStage : public ::testing::Test {
 protected:
  PlatformStage() {
    home_.write("config",
                "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                "clusters: [{name: k, cluster: {server: 'http://" +
                    api_.address().text() + "'}}]\nusers: [{name: u, user: {}}]\n");
  }

  // The server goes last and runs the loop once more; what is due then would find no server.
  ~PlatformStage() override { io_.stop(); }

  virtual kube::testing::Reply answer(const kube::testing::Seen& seen) = 0;

  /// Until nothing is to be looked at, and no answer is on its way.
  void rest() {
    const auto busy = [this] {
      std::string text;
      metrics::Exposition page{text};
      platform_.write_metrics(page);
      return text.find("sluice_kubernetes_waiting_scalers 0\n") == std::string::npos;
    };
    while (io_.run_one_for(std::chrono::milliseconds{100}) > 0 || busy()) {
    }
  }

  boost::asio::io_context io_;
  Clock clock_;
  std::mt19937_64 random_{1};
  log::Logger log_{"test", log::Severity::error};
  kube::testing::FakeApi api_{io_,
                              [this](const kube::testing::Seen& seen) { return answer(seen); }};
  files::ScratchDirectory home_;
  NoListener listener_;
  ClusterPlatforms platform_{io_,
                             clock_,
                             random_,
                             log_,
                             {.pod = "p", .system_space = "sluice-system"},
                             [this](const std::string& name) -> std::optional<std::string> {
                               if (name != "SLUICE_KUBECONFIG") return std::nullopt;
                               return (home_.path() / "config").string();
                             }};
};

}  // namespace sluice::autoscaler::testing
