#include "tests/unit/platform/kubernetes/io/platform_stage.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/kubernetes/io/reconciler.h"
#include <algorithm>
#include <list>
#include <map>

namespace sluice::autoscaler {
namespace {

using boost::asio::ip::tcp;
using kube::testing::chunk;
using kube::testing::json_reply;
using kube::testing::kAllTold;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using kube::testing::watch_reply;
using nlohmann::json;
using testing::kDeployments;
using testing::kPods;
using testing::kScalers;
using testing::kServices;

const RevisionId kWeb{"shop", "web"};

constexpr const char* kStatus =
    "/apis/autoscaling.sluice.dev/v1alpha1/namespaces/shop/requestscalers/web/status";
constexpr const char* kPod = "/api/v1/namespaces/shop/pods/";
constexpr const char* kSlices = "/apis/discovery.k8s.io/v1/endpointslices";
constexpr const char* kSlice = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/";
constexpr const char* kActivators =
    "/apis/discovery.k8s.io/v1/namespaces/sluice-system/endpointslices";

json metadata(const std::string& space, const std::string& name) {
  return {{"name", name}, {"namespace", space}, {"uid", name}, {"resourceVersion", "5"}};
}

json endpoint_slice(json about, const std::string& address, int port) {
  return {{"metadata", std::move(about)},
          {"addressType", "IPv4"},
          {"endpoints", json::array({{{"addresses", json::array({address})},
                                      {"conditions", {{"ready", true}, {"serving", true}}}}})},
          {"ports", json::array({{{"name", "http"}, {"port", port}}})}};
}

// On a port that scalers may have; sends nothing before a test sets its answer.
class FakeActivator {
 public:
  explicit FakeActivator(boost::asio::io_context& io) : acceptor_{io, tcp::v4()} {
    const auto loopback = boost::asio::ip::address_v4::loopback();
    boost::system::error_code taken;
    do {
      acceptor_.bind({loopback, ++port_}, taken);
    } while (taken);
    acceptor_.listen();
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  void say(const std::string& body) {
    reply_ =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (!std::exchange(speaks_, true)) accept();
  }

 private:
  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& ec, tcp::socket peer) {
      if (ec) return;
      boost::asio::write(peers_.emplace_back(std::move(peer)), boost::asio::buffer(reply_));
      accept();
    });
  }

  tcp::acceptor acceptor_;
  std::uint16_t port_ = 20'100;
  bool speaks_ = false;
  std::string reply_;
  std::list<tcp::socket> peers_;
};

// The scaler web of the Deployment web, which sleeps: its Service leads to the one activator.
class ReconcilerWritesTest : public testing::PlatformStage {
 protected:
  ReconcilerWritesTest() {
    all_[kScalers] = {{{"metadata", metadata("shop", "web")},
                       {"spec", {{"targetRef", {{"kind", "Deployment"}, {"name", "web"}}}}},
                       {"status", {{"activatorPort", activator_.port()}}}}};
    all_[kDeployments] = {{{"metadata", metadata("shop", "web")},
                           {"spec",
                            {{"replicas", 0},
                             {"selector", {{"matchLabels", {{"app", "web"}}}}},
                             {"template", {{"metadata", {{"labels", {{"app", "web"}}}}}}}}}}};
    json pods = metadata("shop", "web-private");
    pods["ownerReferences"] =
        json::array({{{"kind", "RequestScaler"}, {"uid", "web"}, {"controller", true}}});
    all_[kServices] = {
        {{"metadata", metadata("shop", "web")},
         {"spec", {{"ports", json::array({{{"name", "http"}, {"port", 80}}})}}}},
        {{"metadata", pods},
         {"spec",
          {{"selector", {{"app", "web"}, {"sluice.dev/sidecar", "queue-proxy"}}},
           {"ports",
            json::array({{{"name", "http"}, {"port", 80}, {"targetPort", "queue-port"}}})}}}}};
    json ours = metadata("shop", "web-sluice-0");
    ours["labels"] = {{"kubernetes.io/service-name", "web"},
                      {"endpointslice.kubernetes.io/managed-by", "sluice.dev"},
                      {"sluice.dev/scaler", "web"}};
    all_[kSlices] = {endpoint_slice(ours, "127.0.0.1", activator_.port())};
    all_[kActivators] = {
        endpoint_slice(metadata("sluice-system", "activator-x"), "127.0.0.1", 8012)};
  }

  Reply answer(const Seen& seen) override {
    if (seen.target == "/apis") return json_reply(R"({"groups":[]})");
    if (seen.method != "GET") return written(seen);
    const std::string path = seen.target.substr(0, seen.target.find('?'));
    watches_[path] = seen.connection;
    std::string events;
    const auto found = all_.find(path);
    if (found != all_.end()) {
      for (const json& object : found->second) events += event("ADDED", object);
    }
    return watch_reply(events + std::string{kAllTold});
  }

  Reply written(const Seen& seen) {
    const auto wrong = wrong_.find(seen.target);
    if (wrong != wrong_.end()) {
      return json_reply(R"({"kind":"Status","code":)" + std::to_string(wrong->second) + "}",
                        wrong->second, "Retry-After: 1\r\n");
    }
    if (seen.target == kStatus) {
      json& scaler = all_[kScalers][0];
      scaler["status"].merge_patch(json::parse(seen.body).at("status"));
      scaler["metadata"]["resourceVersion"] = std::to_string(++version_);
      api_.push(watches_[kScalers], chunk(event("MODIFIED", scaler)));
    }
    return json_reply("{}");
  }

  static std::string event(const std::string& type, const json& object) {
    return json{{"type", type}, {"object", object}}.dump() + "\n";
  }

  void open() {
    ASSERT_FALSE(platform_.open(listener_, clock_.now(), [](const auto&) {}));
    ASSERT_TRUE(run_until(io_, [this] { return api_.count("PATCH", kStatus) > 0; }));
  }

  // Pods of the Deployment, awake then.
  void run(const std::vector<std::string>& names) {
    all_[kDeployments][0]["spec"]["replicas"] = names.size();
    for (const std::string& name : names) {
      json pod{{"metadata", metadata("shop", name)}, {"status", {{"phase", "Running"}}}};
      pod["metadata"]["labels"] = {{"app", "web"}};
      all_[kPods].push_back(std::move(pod));
    }
  }

  [[nodiscard]] std::string ready_reason() {
    for (const json& condition : status().value("conditions", json::array())) {
      if (condition.at("type") == "Ready") return condition.at("reason");
    }
    return {};
  }

  // Of the scalers whose writes fail; empty: there is none.
  [[nodiscard]] std::string failing() const { return platform_.checks().at(1).detail; }

  [[nodiscard]] std::size_t slice_writes() const {
    return api_.count("PATCH", kSlice) + api_.count("DELETE", kSlice);
  }

  [[nodiscard]] const json& status() { return all_[kScalers][0]["status"]; }

  void order(std::int32_t replicas, std::vector<PodId> remove = {}) {
    ScaleOrder order;
    order.replicas = replicas;
    order.report.desired = replicas;
    order.remove = std::move(remove);
    platform_.apply(kWeb, order);
  }

  // Before the server, which may answer until it has gone.
  std::map<std::string, std::vector<json>> all_;  // by the path of their collection
  std::map<std::string, std::size_t> watches_;    // the connections
  std::map<std::string, int> wrong_;              // how writes are answered otherwise, by path
  int version_ = 10;
  FakeActivator activator_{io_};
};

TEST_F(ReconcilerWritesTest, AStartLeavesTheWayToASleepingServiceAsItStands) {
  open();
  rest();
  EXPECT_EQ(slice_writes(), 0U);

  activator_.say("activator");
  rest();
  EXPECT_EQ(slice_writes(), 0U);
}

TEST_F(ReconcilerWritesTest, AnActivatorThatStandsForAnotherIsTakenOutAfterItsAnswer) {
  activator_.say("another");
  open();
  EXPECT_TRUE(run_until(
      io_, [this] { return api_.count("DELETE", std::string{kSlice} + "web-sluice-0") > 0; }));
}

// Goal: the removal of a slice that is wanted again is not made.
// Method: the server tells it to wait; the status, in the same lane, comes after it.
TEST_F(ReconcilerWritesTest, ARemovalThatWaitsIsGivenUpWhenTheSliceIsWantedAgain) {
  activator_.say("another");
  wrong_[std::string{kSlice} + "web-sluice-0"] = 429;
  open();
  ASSERT_TRUE(run_until(io_, [this] { return api_.count("DELETE", kSlice) == 1; }));

  activator_.say("activator");
  rest();
  order(3);

  ASSERT_TRUE(run_until(io_, [this] { return status().value("desired", 0) == 3; }));
  EXPECT_EQ(api_.count("DELETE", kSlice), 1U);
}

TEST_F(ReconcilerWritesTest, AForbiddenWriteThatNobodyWantsAnyMoreIsNoTrouble) {
  run({"web-1", "web-2"});
  wrong_[std::string{kPod} + "web-1"] = 403;
  open();
  order(1, {{"web-1"}});
  ASSERT_TRUE(run_until(io_, [this] { return ready_reason() == "Forbidden"; }));

  order(2);

  EXPECT_TRUE(run_until(io_, [this] { return ready_reason() != "Forbidden"; }));
}

TEST_F(ReconcilerWritesTest, APodThatHasGoneKeepsNoWriteFailing) {
  run({"web-1", "web-2"});
  wrong_[std::string{kPod} + "web-1"] = 404;
  open();
  order(1, {{"web-1"}});
  ASSERT_TRUE(run_until(io_, [this] { return !failing().empty(); }));

  api_.push(watches_[kPods], chunk(event("DELETED", all_[kPods][0])));

  EXPECT_TRUE(run_until(io_, [this] { return failing().empty(); }));
}

TEST_F(ReconcilerWritesTest, PodsOfAnotherOwnerWithTheSameLabelsAreNotItsOwn) {
  run({"web-1", "web-2"});
  const std::vector<std::string> owners{"web-77", "canary-77"};
  for (std::size_t i = 0; i < owners.size(); ++i) {
    json& about = all_[kPods][i]["metadata"];
    about["labels"]["pod-template-hash"] = "77";
    about["ownerReferences"] =
        json::array({{{"kind", "ReplicaSet"}, {"name", owners[i]}, {"controller", true}}});
    about["annotations"] = {
        {"controller.kubernetes.io/pod-deletion-cost", std::to_string(kCostLeast)}};
  }
  open();

  EXPECT_EQ(platform_.last(kWeb)->remove, std::vector<PodId>{{"web-1"}});
}

}  // namespace
}  // namespace sluice::autoscaler
