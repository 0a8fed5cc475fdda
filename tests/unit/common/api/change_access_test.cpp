#include "common/api/change_access.h"

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

constexpr const char* kToken = "0123456789abcdef";

std::string verdict(const ChangeFields& fields) {
  const auto refused = judge_change(fields, kToken, "THE_SETTING");
  return refused ? std::to_string(refused->status) + " " + refused->type : "passes";
}

ChangeFields with(std::initializer_list<std::pair<const char*, const char*>> lines) {
  ChangeFields fields{.authority = "scaler:8082"};
  for (const auto& [name, value] : lines) fields.take(name, value);
  return fields;
}

TEST(ChangeAccess, TheTokenIsAcceptedInEitherHeader) {
  EXPECT_EQ(verdict(with({{"Authorization", "Bearer 0123456789abcdef"}})), "passes");
  EXPECT_EQ(verdict(with({{"authorization", "bearer 0123456789abcdef"}})), "passes");
  EXPECT_EQ(verdict(with({{"Sluice-Edit", "0123456789abcdef"}})), "passes");
}

TEST(ChangeAccess, WithoutTheTokenEveryChangeIsRefusedAndTheSettingIsNamed) {
  EXPECT_EQ(verdict(with({})), "403 token-required");
  EXPECT_EQ(verdict(with({{"Authorization", "Bearer 0123456789abcdeX"}})), "403 token-required");
  EXPECT_EQ(verdict(with({{"Authorization", "Bearer "}})), "403 token-required");
  EXPECT_EQ(verdict(with({{"Authorization", "Basic 0123456789abcdef"}})), "403 token-required");
  EXPECT_EQ(verdict(with({{"Sluice-Edit", "0123456789abcde"}})), "403 token-required");
  EXPECT_NE(judge_change({}, kToken, "THE_SETTING")->detail.find("THE_SETTING"), std::string::npos);
}

TEST(ChangeAccess, TwoLinesOfOneHeaderAreRefused) {
  EXPECT_EQ(verdict(with({{"Sluice-Edit", kToken}, {"Sluice-Edit", kToken}})),
            "400 repeated-header");
  EXPECT_EQ(verdict(with({{"Origin", ""}, {"Origin", ""}, {"Sluice-Edit", kToken}})),
            "400 repeated-header");
  EXPECT_EQ(verdict(with({{"Authorization", "Bearer 0123456789abcdef"},
                          {"Authorization", "Bearer 0123456789abcdef"}})),
            "403 token-required");
}

TEST(ChangeAccess, APageOfAnotherSiteIsRefusedEvenWithTheToken) {
  EXPECT_EQ(verdict(with({{"Sluice-Edit", kToken}, {"Origin", "http://scaler:8082"}})), "passes");
  EXPECT_EQ(verdict(with({{"Sluice-Edit", kToken}, {"Origin", "http://evil.example"}})),
            "403 other-site");
  EXPECT_EQ(verdict(with({{"Sluice-Edit", kToken}, {"Origin", "null"}})), "403 other-site");
  EXPECT_EQ(verdict(with({{"Sluice-Edit", kToken}, {"Sec-Fetch-Site", "cross-site"}})),
            "403 other-site");
}

TEST(ChangeAccess, ATokenIsOneLineOfPrintableText) {
  EXPECT_EQ(*token_in("0123456789abcdef\n"), kToken);
  for (const char* wrong :
       {"", "\n", "0123456789abcde\n", "0123456789 abcdef", "0123456789\nabcdef",
        "0123456789\x7f"
        "abcdef"}) {
    const auto token = token_in(wrong);
    ASSERT_FALSE(token) << wrong;
    EXPECT_FALSE(token.error().fix.empty());
    EXPECT_EQ(token.error().what.find("0123456789"), std::string::npos);
  }
  EXPECT_FALSE(token_in(std::string(kTokenBytesMax + 1, 'x')));
}

}  // namespace
}  // namespace sluice::api
