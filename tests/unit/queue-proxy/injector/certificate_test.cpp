// The rotation of certificates, with the time as an argument: real certificates, no clock.

#include "queue-proxy/injector/io/certificate_documents.h"
#include "queue-proxy/injector/io/certificates.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace sluice::injector {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const std::vector<std::string> kNames{"injector.sluice-system.svc",
                                      "injector.sluice-system.svc.cluster.local"};
constexpr TimePoint kBegin{hours{24 * 365 * 50}};

/// The Secret as replicas leave it.
class Rotation {
 public:
  // Takes every step that is due at `at`; says which.
  std::string steps(TimePoint at) {
    std::string taken;
    for (int rounds = 0; rounds < 5; ++rounds) {
      const CertificateStep step = next_step(state_of(set, kNames), at);
      if (step == CertificateStep::none) return taken;
      const auto next = take_step(set, step, kNames, at);
      if (!next) return next.error().text();
      set = *next;
      taken += kWords[static_cast<std::size_t>(step)];
    }
    return taken + "and so on";
  }

  CertificateSet set;

 private:
  static constexpr const char* kWords[] = {"none ", "all ", "leaf ", "ca ", "drop "};
};

TEST(Certificates, AreMadeOnceAndAreForEveryNameOfTheService) {
  Rotation rotation;
  EXPECT_EQ(rotation.steps(kBegin), "all ");
  EXPECT_EQ(rotation.steps(kBegin), "");

  const CertificateState state = state_of(rotation.set, kNames);
  EXPECT_TRUE(state.leaf_by_ca);
  EXPECT_EQ(state.leaf->until, kBegin + kLeafLife);
  EXPECT_EQ(state.ca->until, kBegin + kCaLife);
  EXPECT_FALSE(state_of(rotation.set, {"injector.elsewhere.svc"}).leaf);
}

TEST(Certificates, GetANewLeafWhenTwoThirdsOfItsLifeAreOver) {
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
  const CertificateSet before = rotation.set;
  at = kBegin + hours{24 * 244};

  ASSERT_EQ(rotation.steps(at), "ca ");
  EXPECT_EQ(rotation.set.leaf, before.leaf);  // the old leaf serves on
  EXPECT_EQ(rotation.set.bundle(), rotation.set.ca + before.ca);
  EXPECT_EQ(rotation.steps(at + minutes{9}), "");

  ASSERT_EQ(rotation.steps(at + minutes{11}), "leaf ");
  EXPECT_TRUE(state_of(rotation.set, kNames).leaf_by_ca);
  EXPECT_EQ(rotation.set.old_ca, before.ca);  // for replicas that still serve the old leaf
  EXPECT_EQ(rotation.steps(at + minutes{60}), "");

  EXPECT_EQ(rotation.steps(at + minutes{75}), "drop ");
  EXPECT_EQ(rotation.set.bundle(), rotation.set.ca);
}

TEST(Certificates, AreAlwaysTrustedAndGoodThroughThreeYears) {
  Rotation rotation;
  for (TimePoint at = kBegin; at < kBegin + 3 * kCaLife; at += hours{24 * 4}) {
    rotation.steps(at);
    const CertificateState state = state_of(rotation.set, kNames);
    ASSERT_TRUE(state.leaf && at >= state.leaf->from && at < state.leaf->until);
    ASSERT_TRUE(state.leaf_by_ca || (state.old_ca && state.leaf_by_old_ca));
  }
}

TEST(Certificates, AreMadeAnewWhenTheSecretIsSpoiled) {
  for (std::string CertificateSet::*field : {&CertificateSet::ca, &CertificateSet::ca_key}) {
    Rotation rotation;
    rotation.steps(kBegin);
    rotation.set.*field = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
    EXPECT_EQ(rotation.steps(kBegin + minutes{1}), "all ");
  }
  for (std::string CertificateSet::*field : {&CertificateSet::leaf, &CertificateSet::leaf_key}) {
    Rotation rotation;
    rotation.steps(kBegin);
    rotation.set.*field = "";
    EXPECT_EQ(rotation.steps(kBegin + minutes{1}), "leaf ");
  }
}

TEST(Certificates, ThatHaveEndedAreReplaced) {
  Rotation rotation;
  rotation.steps(kBegin);
  EXPECT_EQ(rotation.steps(kBegin + kLeafLife + hours{1}), "leaf ");
  EXPECT_EQ(rotation.steps(kBegin + kCaLife + hours{1}), "all ");
}

TEST(CertificateDocuments, SurviveTheSecret) {
  Rotation rotation;
  rotation.steps(kBegin);
  const std::string document =
      secret_document("here", "it", {.set = rotation.set, .resource_version = "7"});
  const auto read = read_secret(document);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->set, rotation.set);
  EXPECT_EQ(read->resource_version, "7");
  EXPECT_FALSE(read_secret("[]"));
  EXPECT_EQ(read_secret(R"({"metadata": {}, "data": {"ca.crt": "%%"}})")->set.ca, "");
}

TEST(CertificateDocuments, PatchOnlyWebhooksWithoutTheBundle) {
  const char* configuration = R"({"webhooks": [
    {"name": "a", "clientConfig": {"caBundle": "QQ=="}}, {"name": "b", "clientConfig": {}},
    {"name": "c"}]})";
  EXPECT_EQ(*bundle_patch(configuration, "A"),
            R"([{"op":"test","path":"/webhooks/1/name","value":"b"},)"
            R"({"op":"add","path":"/webhooks/1/clientConfig/caBundle","value":"QQ=="}])");
  EXPECT_EQ(*bundle_patch(R"({"webhooks": []})", "A"), "");
  EXPECT_FALSE(bundle_patch("{}", "A"));
}

}  // namespace
}  // namespace sluice::injector
