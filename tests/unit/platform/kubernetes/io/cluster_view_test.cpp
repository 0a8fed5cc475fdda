#include "platform/kubernetes/io/cluster_view.h"

#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::autoscaler {
namespace {

using kube::testing::chunk;
using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::kAllTold;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;

constexpr std::string_view kHpas = "/apis/autoscaling/v2/horizontalpodautoscalers";
constexpr std::string_view kKeda = "/apis/keda.sh/v1alpha1/scaledobjects";
constexpr std::string_view kSlices = "/apis/discovery.k8s.io/v1/endpointslices?";
constexpr std::string_view kScalers = "/apis/autoscaling.sluice.dev/v1alpha1/requestscalers";

std::string event(std::string_view type, std::string_view object) {
  return R"({"type":")" + std::string{type} + R"(","object":)" + std::string{object} + "}\n";
}

std::string added(std::string_view object) {
  return event("ADDED", object);
}

// Of the Service front, as the scaler of that name wrote it.
std::string slice_of(std::string_view scaler, int version) {
  return R"({"metadata":{"name":"front-sluice-0","namespace":"shop","resourceVersion":")" +
         std::to_string(version) + R"(","labels":{"sluice.dev/scaler":")" + std::string{scaler} +
         R"("}},"addressType":"IPv4"})";
}

// One scaler of the Deployment web, and an HPA of it.
const std::string kScaler =
    added(R"({"metadata":{"name":"web","namespace":"shop","resourceVersion":"1"},)"
          R"("spec":{"targetRef":{"kind":"Deployment","name":"web"}}})");
const std::string kHpa =
    added(R"({"metadata":{"name":"old","namespace":"shop","resourceVersion":"2"},)"
          R"("spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"}}})");

class ClusterViewTest : public ::testing::Test {
 protected:
  // What the server tells at the beginning of each watch; of `silent_` it tells nothing.
  Reply answer(const Seen& seen) {
    if (seen.target == "/apis") {
      if (!tells_groups_) return json_reply(R"({"kind":"Status","code":503})", 503);
      return json_reply(has_keda_ ? R"({"groups":[{"name":"keda.sh"}]})" : R"({"groups":[]})");
    }
    if (!silent_.empty() && seen.target.starts_with(silent_)) {
      kept_back_ = seen.connection;
      return watch_reply();
    }
    std::string events;
    if (seen.target.starts_with(kScalers)) events += kScaler;
    if (seen.target.starts_with(kHpas)) events += kHpa;
    return watch_reply(events + std::string{kAllTold});
  }

  void start() {
    client_ = *kube::Client::make(io_, clock_, log_, api_.access());
    ClusterView::Events events;
    events.touched = [this](const RevisionId& id) { touched_.insert(id); };
    events.gone = [](const RevisionId&) {};
    events.seen = [](const std::string&) {};
    events.activators = [] {};
    events.config = [](const StringMap&) {};
    events.synced = [this] { ++synced_; };
    const kube::Place place{io_, clock_, random_, log_, *client_};
    objects_ = std::make_unique<ClusterObjects>(place);
    view_ = std::make_unique<ClusterView>(place, *objects_, "sluice-system", std::move(events));
    objects_->start();
    view_->start();
  }

  // All kinds but the silent one have been reported.
  [[nodiscard]] bool others_told() {
    return run_until(io_, [this] { return kept_back_.has_value() && view_->wrong().size() == 1; });
  }

  [[nodiscard]] bool synced() {
    return run_until(io_, [this] { return synced_ == 1; });
  }

  boost::asio::io_context io_;
  Clock clock_;
  std::mt19937_64 random_{1};
  log::Logger log_{"test", log::Severity::error};
  FakeApi api_{io_, [this](const Seen& seen) { return answer(seen); }};
  bool has_keda_ = false;
  bool tells_groups_ = true;
  std::string_view silent_;
  std::optional<std::size_t> kept_back_;  // the connection
  int synced_ = 0;
  std::set<RevisionId> touched_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<ClusterObjects> objects_;
  std::unique_ptr<ClusterView> view_;
};

TEST_F(ClusterViewTest, WhoElseScalesATargetIsKnownBeforeAnythingIsTold) {
  silent_ = kHpas;
  start();
  ASSERT_TRUE(others_told());
  EXPECT_EQ(synced_, 0);
  EXPECT_EQ(view_->wrong()[0], "horizontalpodautoscalers: not known yet");

  api_.push(*kept_back_, chunk(kHpa + std::string{kAllTold}));
  ASSERT_TRUE(synced());

  EXPECT_EQ(view_->other_scaler({"shop", "web"}), "HorizontalPodAutoscaler old");
}

TEST_F(ClusterViewTest, AStartThatHasWaitedEnoughGoesWithoutThem) {
  silent_ = kHpas;
  start();
  ASSERT_TRUE(others_told());

  view_->do_without_others();

  EXPECT_EQ(synced_, 1);
  EXPECT_TRUE(view_->wrong().empty());
}

TEST_F(ClusterViewTest, NothingElseIsGoneWithout) {
  silent_ = "/api/v1/pods";
  start();
  ASSERT_TRUE(others_told());

  view_->do_without_others();

  EXPECT_EQ(synced_, 0);
}

TEST_F(ClusterViewTest, WhereKedaIsNotInstalledItIsNeitherAskedForNorWaitedFor) {
  start();
  ASSERT_TRUE(synced());
  EXPECT_EQ(api_.count("GET", kKeda), 0U);
}

TEST_F(ClusterViewTest, WhileItIsNotKnownWhetherItIsInstalledTheReasonIsTold) {
  tells_groups_ = false;
  start();
  const auto told = [this] {
    const auto wrong = view_->wrong();
    return wrong.size() == 2 && wrong[1].starts_with("/apis: the API server answered 503");
  };
  ASSERT_TRUE(run_until(io_, told));
  EXPECT_EQ(synced_, 0);

  tells_groups_ = true;
  ASSERT_TRUE(synced());
  EXPECT_TRUE(view_->wrong().empty());
}

TEST_F(ClusterViewTest, WhereItIsInstalledItIsWaitedFor) {
  has_keda_ = true;
  silent_ = kKeda;
  start();
  ASSERT_TRUE(others_told());
  EXPECT_EQ(synced_, 0);

  api_.push(*kept_back_, chunk(kAllTold));
  ASSERT_TRUE(synced());
}

TEST_F(ClusterViewTest, ASliceThatAnotherScalerTookOverIsItsOwn) {
  silent_ = kSlices;
  start();
  ASSERT_TRUE(others_told());
  api_.push(*kept_back_, chunk(added(slice_of("old", 1)) + std::string{kAllTold}));
  ASSERT_TRUE(synced());
  ASSERT_EQ(view_->slices({"shop", "old"}).size(), 1U);

  touched_.clear();
  api_.push(*kept_back_, chunk(event("MODIFIED", slice_of("new", 2))));
  ASSERT_TRUE(run_until(io_, [this] { return !touched_.empty(); }));

  EXPECT_EQ(touched_, (std::set<RevisionId>{{"shop", "new"}, {"shop", "old"}}));
  EXPECT_EQ(view_->slices({"shop", "new"}).size(), 1U);
  EXPECT_TRUE(view_->slices({"shop", "old"}).empty());
}

}  // namespace
}  // namespace sluice::autoscaler
