// The TLS variables of queue-proxy.md 3.

#include "common/settings/tls_variables.h"

#include <gtest/gtest.h>

#include <map>

namespace sluice::settings {
namespace {

using net::TlsVersion;

struct Answer {
  net::TlsSettings settings;
  std::optional<Problem> problem;
};

Answer read(const std::map<std::string, std::string>& variables) {
  const Environment environment = [&](const char* name) -> std::optional<std::string> {
    constexpr std::string_view kPrefix = "QUEUE_PROXY_TLS_";
    const std::string_view asked{name};
    if (!asked.starts_with(kPrefix)) return std::nullopt;
    const auto found = variables.find(std::string{asked.substr(kPrefix.size())});
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  Reader reader{environment};
  net::TlsSettings settings = read_tls_settings(reader, "QUEUE_PROXY_TLS_");
  return {std::move(settings), reader.problem()};
}

TEST(TlsConfig, RequiresTheNewestVersionByDefault) {
  const Answer answer = read({});

  EXPECT_FALSE(answer.problem);
  EXPECT_EQ(answer.settings, net::TlsSettings{});
  EXPECT_EQ(answer.settings.min, TlsVersion::v1_3);
}

TEST(TlsConfig, ReadsAllFour) {
  const Answer answer = read({{"MIN_VERSION", "1.2"},
                              {"MAX_VERSION", "1.2"},
                              {"CIPHER_SUITES", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
                              {"CURVE_PREFERENCES", "CurveP256"}});

  EXPECT_FALSE(answer.problem);
  EXPECT_EQ(answer.settings.min, TlsVersion::v1_2);
  EXPECT_EQ(answer.settings.max, TlsVersion::v1_2);
  EXPECT_EQ(answer.settings.suites_1_2, std::vector<std::string>{"ECDHE-RSA-AES128-GCM-SHA256"});
  EXPECT_EQ(answer.settings.groups, std::vector<std::string>{"P-256"});
}

TEST(TlsConfig, TakesEmptyValuesAsUnset) {
  const Answer answer = read(
      {{"MIN_VERSION", ""}, {"MAX_VERSION", ""}, {"CIPHER_SUITES", ""}, {"CURVE_PREFERENCES", ""}});

  EXPECT_FALSE(answer.problem);
  EXPECT_EQ(answer.settings, net::TlsSettings{});
}

TEST(TlsConfig, NamesTheVariableThatIsWrong) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"MIN_VERSION", "1.1"},
                                          {"MAX_VERSION", "2"},
                                          {"CIPHER_SUITES", "TLS_NULL"},
                                          {"CURVE_PREFERENCES", "Curve9"}}) {
    const Answer answer = read({{name, value}});
    ASSERT_TRUE(answer.problem) << name;
    EXPECT_NE(answer.problem->what.find("QUEUE_PROXY_TLS_" + name), std::string::npos);
    EXPECT_FALSE(answer.problem->fix.empty());
  }
}

TEST(TlsConfig, RefusesAHighestVersionBelowTheLeast) {
  EXPECT_TRUE(read({{"MAX_VERSION", "1.2"}}).problem);
}

}  // namespace
}  // namespace sluice::settings
