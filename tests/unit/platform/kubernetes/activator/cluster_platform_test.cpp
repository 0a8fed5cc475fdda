#include "platform/kubernetes/activator/io/cluster_platform.h"

#include "common/kube/request_scaler.h"
#include "common/loop/asio_loop.h"
#include "tests/unit/activator/idle_front.h"
#include "tests/unit/common/kube/fake_api.h"
#include "tests/unit/common/net/stage.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::activator {
namespace {

using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::kAllTold;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;
using settings::KnativeContract;
using testing::IdleOwner;
using testing::NoRoutes;

constexpr std::string_view kRevisions = "/apis/serving.knative.dev/v1/revisions";

constexpr std::string_view kDefinition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/revisions.serving.knative.dev";

// Keeps the contract of each revision that is reported to it.
class Nobody final : public IdleOwner, public model::Listener {
 public:
  void on_revision(model::Revision revision) override {
    contracts[revision.id.name] = revision.contract;
  }

  std::map<std::string, KnativeContract> contracts;

  void on_revision_gone(const RevisionId& /*revision*/) override {}
};

// A cluster in which there is nothing at all.
class ClusterPlatformTest : public ::testing::Test {
 protected:
  Reply answer(const Seen& seen) const {
    if (is_untold(seen)) return watch_reply();
    if (seen.target == kDefinition) return release_;
    if (seen.target.starts_with(kRevisions)) return watch_reply(revision_ + std::string{kAllTold});
    if (seen.target.starts_with(kube::kRequestScalers)) {
      return watch_reply(scaler_ + std::string{kAllTold});
    }
    if (seen.target != "/apis") return watch_reply(kAllTold);
    if (!tells_groups_) return json_reply("{}", 503);
    return json_reply(has_knative_ ? R"({"groups":[{"name":"serving.knative.dev"}]})"
                                   : R"({"groups":[{"name":"apps"}]})");
  }

  [[nodiscard]] bool is_untold(const Seen& seen) const {
    return !untold_.empty() && seen.target.starts_with(untold_);
  }

  void start() {
    platform_ = std::make_unique<ClusterPlatform>(
        io_, clock_, log_, *kube::Client::make(io_, clock_, log_, api_.access()),
        ClusterSpec{.system_space = "sluice-system", .contract = contract_}, nobody_, doors_);
    platform_->start([this] { begun_ = true; });
  }

  [[nodiscard]] static Reply release(const std::string& version) {
    return json_reply(R"({"metadata":{"name":"revisions.serving.knative.dev","labels":)"
                      R"({"app.kubernetes.io/version":")" +
                      version + R"("}}})");
  }

  // The contract under which a revision of Knative is reported after the initial sync.
  [[nodiscard]] KnativeContract contract_told() {
    has_knative_ = true;
    revision_ = R"({"type":"ADDED","object":{"metadata":{"namespace":"n","name":"r",)"
                R"("resourceVersion":"3"},"spec":{"containers":[{}]}}})"
                "\n";
    start();
    EXPECT_TRUE(run_until(io_, [this] { return begun_; }));
    EXPECT_TRUE(nobody_.contracts.contains("r"));
    return nobody_.contracts["r"];
  }

  // Everything that was asked has been answered, and all collections are followed.
  [[nodiscard]] bool followed(std::size_t collections) {
    return run_until(io_, [&] {
      const ClusterPlatform::Watches watches = platform_->watches();
      return begun_ && api_.count("GET", "/apis") > 0 && watches.open == collections &&
             watches.all == collections;
    });
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  AsioLoop time_{io_, clock_};
  log::Logger log_{"test", log::Severity::error};
  NoRoutes routes_;
  Nobody nobody_;
  FrontGateway front_{io_, time_, routes_, nobody_, {}};
  ScalerDoors doors_{io_,    clock_,
                     front_, [](const RevisionId&) { return std::optional<RevisionHandle>{}; },
                     log_,   {.host = "127.0.0.1", .limits = net::testing::stage_limits()}};
  FakeApi api_{io_, [this](const Seen& seen) { return answer(seen); }};
  bool has_knative_ = false;
  bool tells_groups_ = true;
  Reply release_ = release("1.19.0");
  std::optional<KnativeContract> contract_;  // that the settings name
  std::string revision_;                     // events of Knative's
  std::string scaler_;
  std::string untold_;  // the path of what is not told yet
  bool begun_ = false;
  std::unique_ptr<ClusterPlatform> platform_;
};

TEST_F(ClusterPlatformTest, WithoutKnativeItsRevisionsAreNotRequested) {
  start();

  ASSERT_TRUE(followed(5));
  EXPECT_EQ(api_.count("GET", kRevisions), 0U);
}

TEST_F(ClusterPlatformTest, WithKnativeItsRevisionsTheirSlicesAndServicesAreFollowedToo) {
  has_knative_ = true;
  start();

  ASSERT_TRUE(followed(9));
  EXPECT_EQ(api_.count("GET", kRevisions), 1U);
}

TEST_F(ClusterPlatformTest, ItStartsOnceKnativesRevisionsAreListed) {
  has_knative_ = true;
  untold_ = kRevisions;
  start();
  ASSERT_TRUE(run_until(io_, [&] {
    return platform_->watches().open == 6 &&
           platform_->waiting() == std::string{kRevisions} + ": no answer yet";
  }));
  io_.poll();
  EXPECT_FALSE(begun_);

  for (const Seen& seen : api_.seen()) {
    if (is_untold(seen)) api_.push(seen.connection, kube::testing::chunk(kAllTold));
  }
  EXPECT_TRUE(run_until(io_, [&] { return begun_; }));
  EXPECT_EQ(platform_->waiting(), "");
}

TEST_F(ClusterPlatformTest, ItStartsOnceThePresenceOfKnativeIsKnown) {
  tells_groups_ = false;
  start();
  ASSERT_TRUE(run_until(io_, [&] {
    const std::string waiting = platform_->waiting();
    return begun_ ||
           (waiting.starts_with("serving.knative.dev: ") && !waiting.ends_with("no answer yet"));
  }));
  io_.poll();
  EXPECT_FALSE(begun_);

  tells_groups_ = true;
  EXPECT_TRUE(run_until(io_, [&] { return begun_; }));
}

TEST_F(ClusterPlatformTest, KnativesRevisionsHaveTheContractOfItsRelease) {
  release_ = release("1.15.2");

  EXPECT_EQ(contract_told(), KnativeContract::older);
}

TEST_F(ClusterPlatformTest, ANewReleaseHasTheCurrentContract) {
  EXPECT_EQ(contract_told(), KnativeContract::current);
}

TEST_F(ClusterPlatformTest, WithoutPermissionToReadTheReleaseItStartsWithTheCurrentContract) {
  release_ = json_reply(R"({"kind":"Status","code":403,"reason":"Forbidden"})", 403);

  EXPECT_EQ(contract_told(), KnativeContract::current);
}

TEST_F(ClusterPlatformTest, AReleaseWithoutANumberHasTheCurrentContract) {
  release_ = release("v20240501-abcdef");

  EXPECT_EQ(contract_told(), KnativeContract::current);
}

TEST_F(ClusterPlatformTest, AContractThatTheSettingsNameIsNotRequested) {
  contract_ = KnativeContract::older;
  untold_ = kDefinition;

  EXPECT_EQ(contract_told(), KnativeContract::older);
  EXPECT_EQ(api_.count("GET", kDefinition), 0U);
}

TEST_F(ClusterPlatformTest, ARequestScalerBesideAnOlderKnativeHasTheCurrentContract) {
  release_ = release("1.15.2");
  scaler_ = R"({"type":"ADDED","object":{"metadata":{"namespace":"n","name":"s",)"
            R"("resourceVersion":"4"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"}}}})"
            "\n";

  EXPECT_EQ(contract_told(), KnativeContract::older);
  ASSERT_TRUE(nobody_.contracts.contains("s"));
  EXPECT_EQ(nobody_.contracts["s"], KnativeContract::current);
}

TEST_F(ClusterPlatformTest, ItStartsOnceTheReleaseIsKnown) {
  has_knative_ = true;
  untold_ = kDefinition;
  start();

  EXPECT_TRUE(run_until(
      io_, [&] { return platform_->waiting() == "the version of Knative: no answer yet"; }));
  EXPECT_FALSE(begun_);
}

}  // namespace
}  // namespace sluice::activator
