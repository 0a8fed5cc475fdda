#include "platform/kubernetes/io/kubernetes_platform.h"

#include "autoscaler/core/share/buckets.h"
#include "common/ring/hash_ring.h"
#include "tests/unit/platform/kubernetes/io/platform_stage.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::autoscaler {
namespace {

using kube::testing::chunk;
using kube::testing::json_reply;
using kube::testing::kAllTold;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;
using nlohmann::json;

constexpr std::string_view kScalers = "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers";

std::string owner_of(const std::string& name) {
  return ring::bucket_owner(bucket_names(2), "shop/" + name);
}

// A cluster with one scaler of ours, whose status the server keeps.
class KubernetesPlatformTest : public testing::PlatformStage {
 protected:
  KubernetesPlatformTest() { platform_.set_owned(bucket_names(2), {owner_of(kOurs)}); }

  static std::string event(const std::string& type, const std::string& name, const json& status,
                           int version) {
    const json scaler{{"metadata",
                       {{"name", name},
                        {"namespace", "shop"},
                        {"uid", name},
                        {"resourceVersion", std::to_string(version)}}},
                      {"spec", {{"targetRef", {{"kind", "Deployment"}, {"name", name}}}}},
                      {"status", status}};
    return json{{"type", type}, {"object", scaler}}.dump() + "\n";
  }

  Reply answer(const Seen& seen) override {
    if (seen.target == "/apis") return json_reply(R"({"groups":[]})");
    if (seen.method == "PATCH" && seen.target.find("/status") != std::string::npos) {
      status_.merge_patch(json::parse(seen.body).at("status"));
      api_.push(scalers_, chunk(event("MODIFIED", kOurs, status_, ++version_)));
      return json_reply("{}");
    }
    if (seen.method != "GET") return json_reply("{}");
    std::string events;
    if (seen.target.starts_with(kScalers)) {
      scalers_ = seen.connection;
      events = event("ADDED", kOurs, status_, version_);
    }
    return watch_reply(events + std::string{kAllTold});
  }

  [[nodiscard]] int port() const { return status_.value("activatorPort", 0); }

  static constexpr const char* kOurs = "web";

  json status_{{"activatorPort", 20'000}};
  int version_ = 10;
  std::size_t scalers_ = 0;  // the connection of their watch
};

// Goal: a scaler that loses its port to a scaler of another replica requests another one at once.
// Method: the cluster is at rest, so that no other work wakes the platform.
TEST_F(KubernetesPlatformTest, APortThatIsLostToAScalerOfAnotherReplicaIsReplaced) {
  std::string other = "a";
  while (owner_of(other) == owner_of(kOurs)) other += "a";
  bool settled = false;
  ASSERT_FALSE(platform_.open(listener_, clock_.now(), [&](const auto&) { settled = true; }));
  ASSERT_TRUE(run_until(io_, [&] { return settled && version_ > 10; }));
  rest();
  ASSERT_EQ(port(), 20'000);

  api_.push(scalers_, chunk(event("ADDED", other, {{"activatorPort", 20'000}}, ++version_)));

  EXPECT_TRUE(run_until(io_, [&] { return port() != 20'000; }));
}

}  // namespace
}  // namespace sluice::autoscaler
