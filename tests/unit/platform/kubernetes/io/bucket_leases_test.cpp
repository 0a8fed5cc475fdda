#include "platform/kubernetes/io/bucket_leases.h"

#include "tests/unit/common/kube/fake_api.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/kubernetes/io/lease_json.h"

namespace sluice::autoscaler {
namespace {

using kube::testing::FakeApi;
using kube::testing::json_reply;
using kube::testing::Reply;
using kube::testing::run_until;
using kube::testing::Seen;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/sluice-system/leases";
constexpr const char* kBucket = "autoscaler-bucket-00-of-01";

constexpr LeaderElection kRules{.buckets = 1,
                                .lease_duration = seconds{2},
                                .renew_deadline = seconds{1},
                                .retry_period = milliseconds{100}};

/// Leases as an API server keeps them; collections are forbidden, so changes are not reported.
class LeaseStore {
 public:
  Reply answer(const Seen& seen) {
    const std::string name = name_of(seen.target);
    if (seen.method == "POST") return put(json::parse(seen.body), 201);
    if (name.empty()) return json_reply(R"({"kind":"Status","code":403})", 403);
    if (!leases.contains(name)) return json_reply(R"({"kind":"Status","code":404})", 404);
    if (seen.method == "GET") return json_reply(leases[name].dump());
    const json object = json::parse(seen.body);
    if (object["metadata"]["resourceVersion"] != leases[name]["metadata"]["resourceVersion"]) {
      return json_reply(R"({"kind":"Status","code":409,"reason":"Conflict"})", 409);
    }
    return put(object, 200);
  }

  std::map<std::string, json> leases;

 private:
  static std::string name_of(const std::string& target) {
    const std::string prefix = std::string{kLeases} + "/";
    return target.starts_with(prefix) ? target.substr(prefix.size()) : std::string{};
  }

  Reply put(json object, int status) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    leases[object["metadata"]["name"]] = object;
    return json_reply(object.dump(), status);
  }

  int version_ = 0;
};

class BucketLeasesTest : public ::testing::Test {
 protected:
  struct Replica {
    std::unique_ptr<kube::Client> client;
    std::unique_ptr<BucketLeases> leases;
    std::vector<std::string> owned;
    std::uint64_t epoch = 0;
    std::optional<Holder> holder;
  };

  std::unique_ptr<Replica> start(int number) {
    auto replica = std::make_unique<Replica>();
    replica->client = *kube::Client::make(io, clock, log, api.access());
    const std::string digit = std::to_string(number);
    replica->leases = std::make_unique<BucketLeases>(
        io, clock, random, log, *replica->client,
        BucketLeasesSpec{"sluice-system", {"pod-" + digit, "10.0.0." + digit}, kRules},
        BucketLeases::Events{
            .owned =
                [raw = replica.get()](const std::vector<std::string>& owned, std::uint64_t epoch) {
                  raw->owned = owned;
                  raw->epoch = epoch;
                },
            .holder = [raw = replica.get()](
                          const std::string& /*bucket*/,
                          const std::optional<Holder>& now) { raw->holder = now; }});
    replica->leases->start();
    return replica;
  }

  boost::asio::io_context io;
  Clock clock;
  log::Logger log{"test", log::Severity::error};
  std::mt19937_64 random{1};
  LeaseStore store;
  FakeApi api{io, [this](const Seen& seen) { return store.answer(seen); }};
};

TEST_F(BucketLeasesTest, TakesABucketThatNobodyHas) {
  const auto one = start(1);

  ASSERT_TRUE(run_until(io, [&] { return !one->owned.empty(); }));
  EXPECT_EQ(one->owned, std::vector<std::string>{kBucket});
  EXPECT_EQ(store.leases[kBucket]["metadata"]["annotations"][std::string{kEpochAnnotation}],
            std::to_string(one->epoch));
  EXPECT_EQ(store.leases[kBucket]["spec"]["holderIdentity"], "pod-1_10.0.0.1");
  EXPECT_EQ(one->holder, (Holder{"pod-1", "10.0.0.1"}));
}

TEST_F(BucketLeasesTest, RenewsWithAnotherTimeEachTime) {
  const auto one = start(1);
  ASSERT_TRUE(run_until(io, [&] { return !one->owned.empty(); }));
  const json first = store.leases[kBucket]["spec"];

  ASSERT_TRUE(run_until(io, [&] { return api.count("PUT", kLeases) >= 2; }));
  const json later = store.leases[kBucket]["spec"];
  EXPECT_NE(later["renewTime"], first["renewTime"]);
  EXPECT_EQ(later["acquireTime"], first["acquireTime"]);
}

TEST_F(BucketLeasesTest, WhatIsReleasedIsTakenByAnotherUnderAHigherEpoch) {
  const auto one = start(1);
  ASSERT_TRUE(run_until(io, [&] { return !one->owned.empty(); }));
  const auto two = start(2);
  ASSERT_TRUE(run_until(io, [&] { return two->holder.has_value(); }));
  bool released = false;
  one->leases->release(seconds{5}, [&released] { released = true; });

  EXPECT_TRUE(one->owned.empty()) << "before the lease is written";
  ASSERT_TRUE(run_until(io, [&] { return released && !two->owned.empty(); }));
  EXPECT_GT(two->epoch, one->epoch);
  ASSERT_TRUE(run_until(io, [&] { return one->holder == Holder{"pod-2", "10.0.0.2"}; }));
}

TEST_F(BucketLeasesTest, WhoDiesIsFollowedByAnother) {
  auto one = start(1);
  ASSERT_TRUE(run_until(io, [&] { return !one->owned.empty(); }));
  const auto two = start(2);
  one.reset();

  ASSERT_TRUE(run_until(io, [&] { return !two->owned.empty(); }));
  EXPECT_EQ(store.leases[kBucket]["spec"]["leaseTransitions"], 1);
}

TEST_F(BucketLeasesTest, AStolenBucketIsGivenUp) {
  const auto one = start(1);
  ASSERT_TRUE(run_until(io, [&] { return !one->owned.empty(); }));
  store.leases[kBucket]["spec"]["holderIdentity"] = "pod-9_10.0.0.9";
  store.leases[kBucket]["metadata"]["resourceVersion"] = "900";

  ASSERT_TRUE(run_until(io, [&] { return one->owned.empty(); }));
  EXPECT_EQ(one->leases->counts().lost, 1U);
}

TEST(LeaseJson, AStepReadsBackAsItWasMeant) {
  LeaseStep step{.kind = LeaseStep::Kind::replace, .bucket = kBucket};
  step.lease = {.holder = "pod-1_10.0.0.1",
                .acquired = "2026-01-01T00:00:00.000000Z",
                .renewed = {},
                .duration = seconds{15},
                .transitions = 3,
                .epoch = 1'700'000'000,
                .version = "77"};
  step.at = TimePoint{seconds{1'700'000'000}};
  LeaseView expected = step.lease;
  expected.renewed = "2023-11-14T22:13:20.000000Z";

  EXPECT_EQ(decode_lease(encode_lease(step, "sluice-system")), expected);
}

TEST(LeaseJson, WhatIsNoLeaseIsNone) {
  EXPECT_FALSE(decode_lease("[]"));
  EXPECT_FALSE(decode_lease("{"));
  EXPECT_FALSE(decode_lease(R"({"metadata":{}})"));
}

TEST(LeaseJson, NonsenseInALeaseReadsAsNothing) {
  const auto lease = decode_lease(
      R"({"metadata":{"name":"b","annotations":{"autoscaling.sluice.dev/epoch":"soon"}},
          "spec":{"holderIdentity":7,"leaseDurationSeconds":-4,"leaseTransitions":"x"}})");

  EXPECT_EQ(lease, LeaseView{});
}

}  // namespace
}  // namespace sluice::autoscaler
