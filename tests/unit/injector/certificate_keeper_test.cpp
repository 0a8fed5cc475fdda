// Rounds of the keeper against an API server that holds a Secret and both configurations.

#include "injector/io/certificate_keeper.h"

#include "common/certificates/documents.h"
#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "injector/patch/json_access.h"
#include <map>
#include <string>

namespace sluice::injector {
namespace {

using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;

const std::string kPods =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/sluice-injector";
const std::string kScalers =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/sluice-requestscalers";

const std::string kSecret = "/api/v1/namespaces/here/secrets/injector-certificates";

class Keeper : public testing::Test {
 protected:
  Keeper() {
    const char* const empty = R"({"webhooks": [{"name": "a", "clientConfig": {}}]})";
    for (const std::string& path : {kPods, kScalers}) objects_[path] = Json::parse(empty);
  }

  Reply answer(const Seen& seen) {
    if (broken_) return json_reply("{}", 500);
    if (seen.method == "POST") {
      objects_[seen.target + "/injector-certificates"] = Json::parse(seen.body);
      return json_reply(seen.body, 201);
    }
    if (seen.method == "PUT") {
      objects_[seen.target] = Json::parse(seen.body);
      return json_reply(seen.body);
    }
    const auto found = objects_.find(seen.target);
    if (found == objects_.end()) return json_reply("{}", 404);
    if (seen.method == "PATCH" && sealed_) return json_reply("{}", 403);
    if (seen.method == "PATCH") found->second = found->second.patch(Json::parse(seen.body));
    return json_reply(found->second.dump());
  }

  // Runs until that many requests more have come, which is some rounds.
  bool pass(std::size_t requests = 9) {
    const std::size_t until = api_.seen().size() + requests;
    return run_until(io_, [&] { return api_.seen().size() >= until; });
  }

  void put_secret(const certificates::Set& set) {
    certificates::Secret secret{.set = set, .resource_version = "1"};
    objects_[kSecret] = Json::parse(certificates::secret_document(
        {.space = "here", .name = "injector-certificates", .component = "injector"}, secret));
  }

  std::string leaf_kept() { return certificates::read_secret(objects_[kSecret].dump())->set.leaf; }

  // The first round that ends well, among the first few.
  bool good_round() {
    keeper_.start();
    return run_until(io_, [this] { return keeper_.registered() || api_.seen().size() > 20; }) &&
           keeper_.registered();
  }

  boost::asio::io_context io_{1};
  Clock clock_;
  log::Logger log_{"test", log::Severity::error};
  std::map<std::string, Json> objects_;
  bool broken_ = false;  // it answers 500
  bool sealed_ = false;  // no configuration may be changed
  FakeApi api_{io_, [this](const Seen& seen) { return answer(seen); }};
  std::unique_ptr<kube::Client> client_ = *kube::Client::make(io_, clock_, log_, api_.access());
  std::size_t served_ = 0;
  CertificateKeeper keeper_{io_,
                            clock_,
                            log_,
                            *client_,
                            {.space = "here",
                             .names = {"injector.here.svc"},
                             .pause = std::chrono::milliseconds{1},
                             .retry = std::chrono::milliseconds{1}},
                            [this](const net::TlsPair&) { ++served_; }};
};

TEST_F(Keeper, WritesTheBundleIntoBothConfigurations) {
  ASSERT_TRUE(good_round());
  EXPECT_EQ(served_, 1U);
  for (const std::string& path : {kPods, kScalers}) {
    EXPECT_TRUE(objects_[path]["webhooks"][0]["clientConfig"].contains("caBundle")) << path;
  }
}

TEST_F(Keeper, StaysRegisteredWhileTheApiServerFails) {
  ASSERT_TRUE(good_round());

  broken_ = true;
  ASSERT_TRUE(pass());

  EXPECT_TRUE(keeper_.registered());
  EXPECT_FALSE(keeper_.problem().empty());
}

TEST_F(Keeper, IsRegisteredWithoutTheConfigurationForScalers) {
  objects_.erase(kScalers);
  ASSERT_TRUE(good_round());
  ASSERT_TRUE(pass());
  EXPECT_TRUE(keeper_.registered());
  EXPECT_EQ(keeper_.problem(), "");
}

TEST_F(Keeper, IsNotRegisteredWithoutTheConfigurationForPods) {
  ASSERT_TRUE(good_round());

  objects_.erase(kPods);
  ASSERT_TRUE(pass());

  EXPECT_FALSE(keeper_.registered());
}

TEST_F(Keeper, IsNotRegisteredWhereAnotherBundleMayNotBeReplaced) {
  ASSERT_TRUE(good_round());

  sealed_ = true;
  objects_[kPods]["webhooks"][0]["clientConfig"].erase("caBundle");
  ASSERT_TRUE(pass());

  EXPECT_FALSE(keeper_.registered());
}

// A leaf by the new CA is due, and the bundle with that CA cannot be written.
TEST_F(Keeper, KeepsTheLeafOfTheOldCaUntilTheNewBundleIsWritten) {
  const certificates::LeafSpec leaf{.common_name = "sluice injector", .dns = {"injector.here.svc"}};
  const TimePoint now = clock_.now();
  const auto take = [&](const certificates::Set& set, certificates::Step step, Duration ago) {
    return *certificates::take_step(set, step, leaf, now - ago);
  };
  using certificates::Step;
  using std::chrono::hours;
  auto set = take({}, Step::make_all, hours{24 * 300});
  set = take(set, Step::renew_leaf, hours{24});
  set = take(set, Step::renew_ca, hours{2});
  ASSERT_EQ(certificates::next_step(certificates::state_of(set, leaf), now), Step::renew_leaf);
  put_secret(set);
  sealed_ = true;

  keeper_.start();
  ASSERT_TRUE(pass(20));
  EXPECT_EQ(leaf_kept(), set.leaf);
  EXPECT_EQ(served_, 1U);

  sealed_ = false;
  ASSERT_TRUE(run_until(io_, [&] { return leaf_kept() != set.leaf; }));
  EXPECT_TRUE(run_until(io_, [&] { return served_ == 2U; }));
}

TEST_F(Keeper, SaysWhyASecretOfTheUsersServesNothing) {
  put_secret({.leaf = "no PEM", .leaf_key = "neither"});
  keeper_.start();
  ASSERT_TRUE(pass(3));
  EXPECT_EQ(served_, 0U);
  EXPECT_NE(keeper_.problem().find("injector-certificates has no certificate"), std::string::npos)
      << keeper_.problem();
}

}  // namespace
}  // namespace sluice::injector
