#include "load/io/protocol_flags.h"

#include <gtest/gtest.h>

#include "load/io/options.h"
#include <filesystem>
#include <fstream>

namespace sluice::loadgen {
namespace {

constexpr const char* kTlsUrl = "https://app.localhost:8443";

class ProtocolFlagsTest : public ::testing::Test {
 protected:
  ProtocolFlagsTest() {
    std::filesystem::create_directories(directory_);
    std::ofstream{directory_ + "/some.pem"} << "some text";
    std::ofstream{directory_ + "/empty.pem"};
  }

  ~ProtocolFlagsTest() override { std::filesystem::remove_all(directory_); }

  static std::string problem_of(std::vector<std::string> arguments) {
    const auto parsed = parse_options(std::move(arguments));
    return parsed ? "" : parsed.error().text();
  }

  const std::string directory_ = testing::TempDir() + "/protocol_flags";
};

TEST_F(ProtocolFlagsTest, VerifyServersByDefault) {
  const auto parsed = parse_options({kTlsUrl});

  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->plan.any_tls());
  EXPECT_TRUE(parsed->plan.tls.verify);
  EXPECT_TRUE(parsed->plan.tls.ca.empty());
}

TEST_F(ProtocolFlagsTest, ReadTheFilesOfCertificates) {
  const std::string file = directory_ + "/some.pem";

  const auto parsed = parse_options({kTlsUrl, "--cacert", file, "--cert", file, "--key", file});

  ASSERT_TRUE(parsed) << parsed.error().text();
  EXPECT_EQ(parsed->plan.tls.ca, "some text");
  EXPECT_EQ(parsed->plan.tls.certificate, "some text");
  EXPECT_EQ(parsed->plan.tls.key, "some text");
  EXPECT_FALSE(parse_options({kTlsUrl, "-k"})->plan.tls.verify);
}

TEST_F(ProtocolFlagsTest, NameTheFileThatIsWrong) {
  EXPECT_NE(
      problem_of({kTlsUrl, "--cacert", directory_ + "/none.pem"}).find("--cacert: there is no"),
      std::string::npos);
  EXPECT_NE(problem_of({kTlsUrl, "--cacert", directory_ + "/empty.pem"}).find("is empty"),
            std::string::npos);
  EXPECT_NE(problem_of({kTlsUrl, "--cacert", directory_}).find("--cacert: "), std::string::npos);
}

TEST_F(ProtocolFlagsTest, RefuseWhatHasNoEffect) {
  const std::string file = directory_ + "/some.pem";
  EXPECT_NE(problem_of({"http://app.localhost", "--cacert", file}).find("are for TLS"),
            std::string::npos);
  EXPECT_NE(problem_of({kTlsUrl, "-k", "--cacert", file}).find("cannot be joined"),
            std::string::npos);
  EXPECT_NE(problem_of({kTlsUrl, "--cert", file}).find("belong together"), std::string::npos);
}

}  // namespace
}  // namespace sluice::loadgen
