// The rotation of certificates, with the time as an argument: real certificates, no clock.

#include "common/certificates/documents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::certificates {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const LeafSpec kLeaf{
    .common_name = "sluice injector",
    .dns = {"injector.sluice-system.svc", "injector.sluice-system.svc.cluster.local"}};
constexpr TimePoint kBegin{hours{24 * 365 * 50}};

/// The Secret as replicas leave it.
class Rotation {
 public:
  // Takes every step that is due at `at`; returns which.
  std::string steps(TimePoint at) {
    std::string taken;
    for (int rounds = 0; rounds < 5; ++rounds) {
      const Step step = next_step(state_of(set, kLeaf), at);
      if (step == Step::none) return taken;
      const auto next = take_step(set, step, kLeaf, at);
      if (!next) return next.error().text();
      set = *next;
      taken += kWords[static_cast<std::size_t>(step)];
    }
    return taken + "and so on";
  }

  Set set;

 private:
  static constexpr const char* kWords[] = {"none ", "all ", "leaf ", "ca ", "drop "};
};

TEST(Certificates, AreMadeOnceAndAreForEveryNameOfTheService) {
  Rotation rotation;
  EXPECT_EQ(rotation.steps(kBegin), "all ");
  EXPECT_EQ(rotation.steps(kBegin), "");

  const State state = state_of(rotation.set, kLeaf);
  EXPECT_TRUE(state.leaf_by_ca);
  EXPECT_EQ(state.leaf->until, kBegin + kLeafLife);
  EXPECT_EQ(state.ca->until, kBegin + kCaLife);
  EXPECT_FALSE(
      state_of(rotation.set, {.common_name = "x", .dns = {"injector.elsewhere.svc"}}).leaf);
}

TEST(Certificates, GetANewLeafAfterTwoThirdsOfItsValidity) {
  Rotation rotation;
  rotation.steps(kBegin);
  const std::string bundle = rotation.set.bundle();
  EXPECT_EQ(rotation.steps(kBegin + hours{24 * 59}), "");
  EXPECT_EQ(rotation.steps(kBegin + hours{24 * 60}), "leaf ");
  EXPECT_EQ(rotation.set.bundle(), bundle);
}

TEST(Certificates, OfANewCaServeOnlyWhenItIsTrustedAndTheOldOneLeavesLast) {
  Rotation rotation;
  TimePoint at = kBegin;
  for (; at < kBegin + hours{24 * 243}; at += hours{24}) rotation.steps(at);
  const Set before = rotation.set;
  at = kBegin + hours{24 * 244};

  ASSERT_EQ(rotation.steps(at), "ca ");
  EXPECT_EQ(rotation.set.leaf, before.leaf);  // the old leaf serves on
  EXPECT_EQ(rotation.set.bundle(), rotation.set.ca + before.ca);
  EXPECT_EQ(rotation.steps(at + minutes{9}), "");

  ASSERT_EQ(rotation.steps(at + minutes{11}), "leaf ");
  EXPECT_TRUE(state_of(rotation.set, kLeaf).leaf_by_ca);
  EXPECT_EQ(rotation.set.old_ca, before.ca);  // for replicas that still serve the old leaf
  EXPECT_EQ(rotation.steps(at + minutes{60}), "");

  EXPECT_EQ(rotation.steps(at + minutes{75}), "drop ");
  EXPECT_EQ(rotation.set.bundle(), rotation.set.ca);
}

TEST(Certificates, StayTrustedAndValidForThreeYears) {
  Rotation rotation;
  for (TimePoint at = kBegin; at < kBegin + 3 * kCaLife; at += hours{24 * 4}) {
    rotation.steps(at);
    const State state = state_of(rotation.set, kLeaf);
    ASSERT_TRUE(state.leaf && at >= state.leaf->from && at < state.leaf->until);
    ASSERT_TRUE(state.leaf_by_ca || (state.old_ca && state.leaf_by_old_ca));
  }
}

TEST(Certificates, AreMadeAgainWhenTheSecretIsCorrupt) {
  for (std::string Set::*field : {&Set::ca, &Set::ca_key}) {
    Rotation rotation;
    rotation.steps(kBegin);
    rotation.set.*field = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    EXPECT_EQ(rotation.steps(kBegin + minutes{1}), "all ");
  }
  for (std::string Set::*field : {&Set::leaf, &Set::leaf_key}) {
    Rotation rotation;
    rotation.steps(kBegin);
    rotation.set.*field = "";
    EXPECT_EQ(rotation.steps(kBegin + minutes{1}), "leaf ");
  }
}

TEST(Certificates, ThatHaveExpiredAreReplaced) {
  Rotation rotation;
  rotation.steps(kBegin);
  EXPECT_EQ(rotation.steps(kBegin + kLeafLife + hours{1}), "leaf ");
  EXPECT_EQ(rotation.steps(kBegin + kCaLife + hours{1}), "all ");
}

TEST(CertificateDocuments, SurviveARoundTripThroughTheSecret) {
  Rotation rotation;
  rotation.steps(kBegin);
  const std::string document = secret_document({.space = "here", .name = "it", .component = "x"},
                                               {.set = rotation.set, .resource_version = "7"});
  const auto read = read_secret(document);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->set, rotation.set);
  EXPECT_EQ(read->resource_version, "7");
  EXPECT_FALSE(read_secret("[]"));
  EXPECT_EQ(read_secret(R"({"metadata": {}, "data": {"ca.crt": "%%"}})")->set.ca, "");
}

TEST(Certificates, SignAKeyThatItsOwnerKeeps) {
  Rotation rotation;
  rotation.steps(kBegin);
  const auto key = make_key();
  ASSERT_TRUE(key.has_value());
  const LeafSpec agent{.common_name = "sluice node agent",
                       .uris = {"sluice://node-agent/n1"},
                       .server = false,
                       .client = true};

  const auto made = sign(rotation.set, key->public_key, agent, hours{24}, kBegin);

  ASSERT_TRUE(made.has_value());
  Set held = rotation.set;
  held.leaf = made->certificate;
  held.leaf_key = key->key;
  const State state = state_of(held, agent);
  EXPECT_TRUE(state.leaf && state.leaf_by_ca);
  EXPECT_EQ(state.leaf->until, kBegin + hours{24});
  EXPECT_FALSE(state_of(held, {.common_name = "x", .uris = {"sluice://node-agent/n2"}}).leaf);
  EXPECT_FALSE(state_of(held, kLeaf).leaf) << "a node agent is no server";
}

TEST(Certificates, SignNoKeyOfAnotherKind) {
  Rotation rotation;
  rotation.steps(kBegin);
  EXPECT_FALSE(sign(rotation.set, "", kLeaf, hours{1}, kBegin).has_value());
  EXPECT_FALSE(sign(rotation.set, rotation.set.leaf_key, kLeaf, hours{1}, kBegin).has_value());
  const auto key = make_key();
  Set foreign = rotation.set;
  foreign.ca_key.clear();
  EXPECT_FALSE(sign(foreign, key->public_key, kLeaf, hours{1}, kBegin).has_value());
}

TEST(Certificates, KeepTheLeafInServiceWhileTheNewBundleIsNotThere) {
  Rotation rotation;
  rotation.steps(kBegin);
  const TimePoint at = kBegin + hours{24 * 10};
  EXPECT_EQ(step_before_bundle(Step::renew_leaf, state_of(rotation.set, kLeaf), at),
            Step::renew_leaf)
      << "by the CA that is trusted already";
  const State state = state_of(*take_step(rotation.set, Step::renew_ca, kLeaf, at), kLeaf);
  EXPECT_EQ(step_before_bundle(Step::renew_leaf, state, at), Step::none);
  EXPECT_EQ(step_before_bundle(Step::drop_old_ca, state, at), Step::none);
  EXPECT_EQ(step_before_bundle(Step::renew_ca, state, at), Step::renew_ca);
  EXPECT_EQ(step_before_bundle(Step::make_all, {}, at), Step::make_all);
  EXPECT_EQ(step_before_bundle(Step::renew_leaf, state, state.leaf->until), Step::renew_leaf)
      << "the old one proves nothing any more";
}

TEST(Certificates, KeepAnOldCaUntilItsLeavesExpire) {
  Rotation rotation;
  rotation.steps(kBegin);
  TimePoint at = kBegin + hours{24 * 244};
  ASSERT_TRUE(take_step(rotation.set, Step::renew_ca, kLeaf, at).has_value());
  rotation.set = *take_step(rotation.set, Step::renew_ca, kLeaf, at);
  rotation.set = *take_step(rotation.set, Step::renew_leaf, kLeaf, at);
  const State state = state_of(rotation.set, kLeaf);
  EXPECT_EQ(next_step(state, at + hours{24}, hours{25}), Step::none);
  EXPECT_EQ(next_step(state, at + hours{25}, hours{25}), Step::drop_old_ca);
}

TEST(SignedByOneOf, FindsTheCaAnywhereInTheBundle) {
  const Set one = *take_step({}, Step::make_all, kLeaf, kBegin);
  const Set other = *take_step({}, Step::make_all, kLeaf, kBegin);
  EXPECT_TRUE(is_signed_by_one_of(one.leaf, one.ca));
  EXPECT_TRUE(is_signed_by_one_of(one.leaf, other.ca + one.ca));
  EXPECT_FALSE(is_signed_by_one_of(one.leaf, other.ca));
  EXPECT_FALSE(is_signed_by_one_of(one.leaf, "")) << "nothing is trusted";
  EXPECT_FALSE(is_signed_by_one_of("", one.ca)) << "there is none";
}

}  // namespace
}  // namespace sluice::certificates
