#include "platform/process/volumes.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include "platform/process/health_watch.h"
#include "platform/process/sidecar.h"
#include <fstream>
#include <sys/stat.h>

namespace sluice::local {
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};

  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0;
}

const ConfigName kSettings{ConfigKind::config_map, "settings"};
const ConfigName kKeys{ConfigKind::secret, "keys"};

ServiceSpec spec_with_volumes() {
  ServiceSpec spec;
  spec.config = {{kSettings, {{"a", "1"}, {"b", "2"}}}, {kKeys, {{"token", "hunter2"}}}};
  spec.volumes = {
      {"all", {{kSettings, false, {{"b", "deep/b"}}}, {kKeys, false, {}}}, std::nullopt},
      {"shown", {{kSettings, false, {}}}, 0440},
      {"scratch", {}, std::nullopt}};
  spec.mounts = {{"all", "/etc/app", ""}, {"scratch", "/etc/app/temp", "cache"}};
  return spec;
}

TEST(Volumes, HaveTheirFilesOnlyForTheirOwner) {
  const TemporaryDirectory scratch;
  const auto directory = scratch.path() / "v";

  ASSERT_FALSE(write_volumes(spec_with_volumes(), directory));

  EXPECT_EQ(mode_of(directory), 0700U);
  EXPECT_EQ(content_of(directory / "all/deep/b"), "2");
  EXPECT_EQ(content_of(directory / "all/token"), "hunter2");
  EXPECT_EQ(mode_of(directory / "all/token"), 0400U);
  EXPECT_FALSE(std::filesystem::exists(directory / "all/a"));
  EXPECT_EQ(mode_of(directory / "shown/a"), 0440U);
  EXPECT_TRUE(std::filesystem::is_directory(directory / "scratch/cache"));
  EXPECT_TRUE(remove_some(directory));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

// Goal: what a program has left is removed to the last file, in steps of a thousand entries.
TEST(Volumes, ThatHoldALotAreRemovedInSteps) {
  const TemporaryDirectory scratch;
  const auto directory = scratch.path() / "v";
  std::filesystem::create_directories(directory / "a/b");
  for (int i = 0; i < 1500; ++i) std::ofstream{directory / "a/b" / std::to_string(i)};
  std::filesystem::create_directory_symlink("/", directory / "a/link");

  EXPECT_FALSE(remove_some(directory));
  EXPECT_TRUE(std::filesystem::exists(directory));
  EXPECT_TRUE(remove_some(directory));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(Volumes, TakeThePlaceOfTheirPaths) {
  const auto places = places_of(spec_with_volumes().mounts, "/run/v");
  const auto at = [&](const char* text) { return at_places(text, places); };

  EXPECT_EQ(at("--config=/etc/app/app.yaml"), "--config=/run/v/all/app.yaml");
  EXPECT_EQ(at("/etc/app"), "/run/v/all");
  EXPECT_EQ(at("/etc/app:/etc/app/temp/x"), "/run/v/all:/run/v/scratch/cache/x");
  EXPECT_EQ(at("file:///etc/app/x"), "file:///run/v/all/x");
  for (const char* other : {"/etc/apple", "/srv/etc/app", "a/etc/app", "/etc", ""})
    EXPECT_EQ(at(other), other);
}

TEST(ProgramEnvironment, TakesValuesOfConfigAsTheyAre) {
  ProgramSpec program;
  const ConfigDocuments config{{kSettings, {{"A", "/data/$PORT"}, {"B", "b"}}},
                               {kKeys, {{"token", "/data $PORT"}}}};
  program.env_from = {{kSettings, "X_", false}, {{ConfigKind::secret, "none"}, "", true}};
  program.env = {{"T", "", ConfigKey{kKeys, "token", false}},
                 {"NONE", "", ConfigKey{kKeys, "none", true}},
                 {"X_B", "own"},
                 {"D", "/data/$PORT"}};

  EXPECT_EQ(program_environment(program, config, {20000, "app", "app-00001"},
                                {{"/data", "/run/v/data"}}, {}),
            (std::vector<std::string>{"X_A=/run/v/data/$PORT", "T=/data $PORT", "X_B=own",
                                      "D=/run/v/data/20000", "PORT=20000", "K_SERVICE=app",
                                      "K_CONFIGURATION=app", "K_REVISION=app-00001"}));
}

TEST(ProgramEnvironment, ExpandsTheVariablesBeforeIt) {
  const ConfigKey token{{ConfigKind::secret, "keys"}, "token"};
  const ConfigDocuments config{{token.source, {{"token", "$(A)"}}}};
  ProgramSpec program;
  program.env = {{"B", "$(A)"}, {"A", "aa"}, {"C", "$(A)-$(T)"}, {"T", "", token}, {"D", "$(T)"}};

  EXPECT_EQ(
      program_environment(program, config, {20000, "app", "app-00001"}, {}, {}),
      (std::vector<std::string>{"B=$(A)", "A=aa", "C=aa-$(T)", "T=$(A)", "D=$(A)", "PORT=20000",
                                "K_SERVICE=app", "K_CONFIGURATION=app", "K_REVISION=app-00001"}));
}

TEST(HealthRule, FailsAfterTheThresholdInARow) {
  const TimePoint begun{};
  HealthRule rule{3, begun};
  EXPECT_FALSE(rule.failed_with(false, begun));
  EXPECT_FALSE(rule.failed_with(false, begun));
  EXPECT_FALSE(rule.failed_with(true, begun));
  EXPECT_FALSE(rule.failed_with(false, begun));
  EXPECT_FALSE(rule.failed_with(false, begun));
  EXPECT_TRUE(rule.failed_with(false, begun));
}

TEST(HealthRule, FailsNotBeforeItsTime) {
  const TimePoint begun{};
  HealthRule rule{1, begun + std::chrono::seconds{30}};
  EXPECT_FALSE(rule.failed_with(false, begun + std::chrono::seconds{29}));
  EXPECT_TRUE(rule.failed_with(false, begun + std::chrono::seconds{30}));
}

}  // namespace
}  // namespace sluice::local
