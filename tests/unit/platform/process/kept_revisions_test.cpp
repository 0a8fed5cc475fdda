#include "platform/process/kept_revisions.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace sluice::local {
namespace {

using namespace std::chrono_literals;

ServiceSpec of(const std::string& service, const std::string& argument) {
  ServiceSpec spec;
  spec.name = service;
  spec.command = {"/bin/sh"};
  spec.args = {argument};
  spec.working_dir = "/";
  return spec;
}

TEST(KeptRevisions, ARevisionIsThereAgainAfterAStartWithTheTimeWhenItWasMade) {
  const TemporaryDirectory directory;
  const TimePoint made{1'700'000'000s};
  {
    KeptRevisions kept{directory.path()};
    ServiceSpec spec = of("app", "a");
    spec.traffic = {{.percent = 100}};
    kept.keep(1, spec, made);
    kept.keep(1, of("app", "b"), made + 1h);
    kept.keep(2, of("app", "c"), made + 2h);
    kept.keep(1, of("app-00001", "d"), made);
  }
  const KeptRevisions kept{directory.path()};
  EXPECT_EQ(kept.numbers("app"), (std::vector{1, 2}));
  EXPECT_EQ(kept.numbers("app-00001"), (std::vector{1}));
  EXPECT_EQ(kept.spec("app", 1), of("app", "b"));
  EXPECT_EQ(kept.made("app", 1), made);
  EXPECT_EQ(kept.made("app", 2), made + 2h);
  EXPECT_EQ(kept.spec("app", 3), std::nullopt);
  EXPECT_FALSE(kept.has("web", 1));
}

TEST(KeptRevisions, AnImageIsReadBackWhereNothingRunsImages) {
  const TemporaryDirectory directory;
  ServiceSpec image;
  image.name = "app";
  image.image = "localhost/app:1";
  image.working_dir = "/";
  {
    KeptRevisions kept{directory.path()};
    kept.keep(1, image, {});
  }
  const std::string path = std::getenv("PATH");
  ASSERT_EQ(::setenv("PATH", directory.path().c_str(), 1), 0);
  const auto read = KeptRevisions{directory.path()}.spec("app", 1);
  ASSERT_EQ(::setenv("PATH", path.c_str(), 1), 0);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->image, image.image);
}

// Method: a directory is in the way of the file.
TEST(KeptRevisions, WhatCouldNotBeWrittenIsWrittenWithTheNextChange) {
  const TemporaryDirectory directory;
  KeptRevisions kept{directory.path()};
  const auto file = directory.path() / "app-00001.yaml";
  std::filesystem::create_directory(file);
  kept.keep(1, of("app", "a"), TimePoint{1s});
  EXPECT_EQ(kept.spec("app", 1), of("app", "a"));

  std::filesystem::remove(file);
  kept.settle("app", {1}, {});
  EXPECT_EQ(KeptRevisions{directory.path()}.spec("app", 1), of("app", "a"));
}

TEST(KeptRevisions, WithoutADirectoryTheyAreKeptInMemory) {
  KeptRevisions kept;
  kept.keep(1, of("app", "a"), TimePoint{1s});
  EXPECT_EQ(kept.spec("app", 1), of("app", "a"));
  EXPECT_EQ(kept.made("app", 1), TimePoint{1s});
}

TEST(KeptRevisions, TheOldestUnusedOnesBeyondTenAreDropped) {
  const TemporaryDirectory directory;
  {
    KeptRevisions kept{directory.path()};
    for (int number = 1; number <= 14; ++number) kept.keep(number, of("app", "a"), {});
    kept.settle("app", {1, 14}, {});
    EXPECT_EQ(kept.numbers("app"), (std::vector{1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
  }
  EXPECT_EQ(KeptRevisions{directory.path()}.numbers("app").size(), 12U);
}

TEST(KeptRevisions, ChosenTrafficIsThereAgainAfterAStartUntilItIsEnded) {
  const TemporaryDirectory directory;
  const Traffic chosen{{.revision = "app-00001", .percent = 100, .tag = "old"}};
  {
    KeptRevisions kept{directory.path()};
    EXPECT_FALSE(kept.choose("app", chosen));
  }
  {
    KeptRevisions kept{directory.path()};
    EXPECT_EQ(kept.traffic("app"), chosen);
    EXPECT_FALSE(kept.choose("app", {}));
  }
  EXPECT_TRUE(KeptRevisions{directory.path()}.traffic("app").empty());
}

TEST(KeptRevisions, ASpecWithSecretsIsInAFileOnlyWhileItsRevisionIsNamed) {
  const TemporaryDirectory directory;
  const auto files = [&directory] {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator{directory.path()})
      names += entry.path().filename().string() + " ";
    return names;
  };
  ServiceSpec spec = of("app", "a");
  spec.config[{ConfigKind::secret, "keys"}]["token"] = "hunter2";
  spec.env_from = {{.source = {ConfigKind::secret, "keys"}}};
  {
    KeptRevisions kept{directory.path()};
    kept.keep(1, spec, TimePoint{5s});
    EXPECT_EQ(files(), "");
    kept.settle("app", {1}, {1});
    EXPECT_EQ(files(), "app-00001.secret.yaml ");
    spec.args = {"b"};
    kept.keep(1, spec, TimePoint{9s});
  }
  KeptRevisions kept{directory.path()};
  EXPECT_EQ(kept.spec("app", 1), spec);
  EXPECT_EQ(kept.made("app", 1), TimePoint{5s});
  kept.settle("app", {1}, {});
  EXPECT_EQ(files(), "");
  EXPECT_EQ(kept.spec("app", 1), spec);
  EXPECT_EQ(kept.made("app", 1), TimePoint{5s});
}

TEST(KeptRevisions, ARemovedServiceLeavesNoFile) {
  const TemporaryDirectory directory;
  KeptRevisions kept{directory.path()};
  kept.keep(1, of("app", "a"), {});
  EXPECT_FALSE(kept.choose("app", {{.percent = 100}}));
  kept.forget("app");
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_TRUE(kept.numbers("app").empty());
}

TEST(KeptRevisions, BrokenAndForeignFilesAreNoRevisions) {
  const TemporaryDirectory directory;
  const auto write = [&directory](const std::string& name, const std::string& text) {
    std::ofstream{directory.path() / name} << text;
  };
  write("app-00001.yaml", "no service");
  write("app-1.yaml", "");
  write("notes.yaml", "");
  write("app.traffic.json", "[{\"latestRevision\":true,\"percent\":40}]");
  const KeptRevisions kept{directory.path()};
  EXPECT_EQ(kept.numbers("app"), (std::vector{1}));
  EXPECT_EQ(kept.spec("app", 1), std::nullopt);
  EXPECT_TRUE(kept.traffic("app").empty());
}

TEST(RevisionName, ItsNumberIsReadBackForItsOwnServiceOnly) {
  EXPECT_EQ(revision_name("app", 7), "app-00007");
  EXPECT_EQ(revision_number("app", "app-00007"), 7);
  EXPECT_EQ(revision_number("app", "app-123456"), 123456);
  for (const char* other :
       {"app", "app-", "app-7", "app-00000", "appl00007", "app-0000x", "web-00007"})
    EXPECT_EQ(revision_number("app", other), 0) << other;
}

}  // namespace
}  // namespace sluice::local
