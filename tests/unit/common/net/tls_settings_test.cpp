#include "common/net/tls/tls_settings.h"

#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using Names = std::vector<std::string>;

TEST(TlsSettings, AcceptsTwoVersions) {
  EXPECT_EQ(*parse_tls_version("1.2"), TlsVersion::v1_2);
  EXPECT_EQ(*parse_tls_version("1.3"), TlsVersion::v1_3);
  for (const char* other : {"1.1", "1.0", "TLS1.3", "", "1.30", " 1.3"}) {
    EXPECT_FALSE(parse_tls_version(other)) << other;
  }
}

TEST(TlsSettings, SortsSuitesByVersionInTheirOrder) {
  const auto settings =
      with_cipher_suites({},
                         " TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 ,,TLS_AES_128_GCM_SHA256, "
                         "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,");

  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->suites_1_2, (Names{"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA"}));
  EXPECT_EQ(settings->suites_1_3, Names{"TLS_AES_128_GCM_SHA256"});
}

TEST(TlsSettings, NamesAnUnknownSuite) {
  for (const char* list : {"TLS_AES_128_GCM_SHA256,TLS_NULL", "tls_aes_128_gcm_sha256",
                           "TLS_RSA_WITH_RC4_128_SHA", "AES128-SHA"}) {
    const auto settings = with_cipher_suites({}, list);
    ASSERT_FALSE(settings) << list;
  }
  EXPECT_NE(with_cipher_suites({}, "TLS_NULL").error().what.find("'TLS_NULL'"), std::string::npos);
}

TEST(TlsSettings, AcceptsBothSpellingsOfCurves) {
  const auto settings = with_curves({}, "P-384, CurveP256,P-256,X25519,CurveP521");

  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->groups, (Names{"P-384", "P-256", "X25519", "P-521"}));
  EXPECT_TRUE(settings->missing.empty());
}

TEST(TlsSettings, SkipsACurveThatThisBuildLacks) {
  const auto settings = with_curves({}, "X25519MLKEM768,X25519,X25519MLKEM768");

  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->groups, Names{"X25519"});
  EXPECT_EQ(settings->missing, Names{"X25519MLKEM768"});
}

TEST(TlsSettings, RefusesCurvesThatLeaveNothingAndUnknownOnes) {
  EXPECT_FALSE(with_curves({}, "X25519MLKEM768"));
  EXPECT_FALSE(with_curves({}, "X25519,Curve9"));
  EXPECT_FALSE(with_curves({}, "x25519"));
}

TEST(TlsSettings, TreatsEmptyListsAsTheLibrarysDefault) {
  EXPECT_TRUE(with_curves({}, " , ")->groups.empty());
  EXPECT_TRUE(with_cipher_suites({}, "")->suites_1_2.empty());
}

}  // namespace
}  // namespace sluice::net
