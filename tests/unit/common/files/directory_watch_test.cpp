#include "common/files/directory_watch.h"

#include "common/files/file_io.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace sluice::files {
namespace {

constexpr std::chrono::seconds kPatience{20};

/// A watch over one directory, and what it has told.
class Watched {
 public:
  Watched(const std::filesystem::path& directory, WatchPace pace)
      : watch_{io_,
               {directory},
               [this](std::span<const DirectoryChange> changes) {
                 for (const DirectoryChange& change : changes) told_.insert(change.name);
               },
               pace} {}

  /// Runs until `name` was reported; empty: the whole directory.
  bool hears(const std::string& name) {
    while (!told_.contains(name)) {
      if (io_.run_one_for(kPatience) == 0) return false;
    }
    return true;
  }

  void forget() { told_.clear(); }

  [[nodiscard]] bool heard(const std::string& name) const { return told_.contains(name); }

  [[nodiscard]] const DirectoryWatch& watch() const { return watch_; }

 private:
  boost::asio::io_context io_;
  std::set<std::string> told_;
  DirectoryWatch watch_;
};

constexpr WatchPace kNeverLooks{.told = std::chrono::hours{1}, .blind = std::chrono::hours{1}};
constexpr WatchPace kLooksOften{.told = std::chrono::milliseconds{5},
                                .blind = std::chrono::milliseconds{5}};

TEST(DirectoryWatch, TellsOfFilesRenamedIntoPlaceWrittenAndRemoved) {
  const ScratchDirectory scratch;
  scratch.write("old", "x");
  Watched watched{scratch.path(), kNeverLooks};
  ASSERT_TRUE(watched.watch().complete());

  ASSERT_FALSE(replace_file(scratch.path() / "renamed", "x"));
  EXPECT_TRUE(watched.hears("renamed"));
  scratch.write("written", "x");
  EXPECT_TRUE(watched.hears("written"));
  std::filesystem::remove(scratch.path() / "old");
  EXPECT_TRUE(watched.hears("old"));
}

TEST(DirectoryWatch, FindsADirectoryThatComesLater) {
  const ScratchDirectory scratch;
  const auto late = scratch.path() / "late";
  Watched watched{late, kLooksOften};
  EXPECT_FALSE(watched.watch().complete());

  std::filesystem::create_directory(late);
  while (!watched.watch().complete()) {
    watched.forget();
    ASSERT_TRUE(watched.hears(""));
  }
  ASSERT_FALSE(replace_file(late / "file", "x"));

  EXPECT_TRUE(watched.hears("file"));
}

TEST(DirectoryWatch, ADirectoryThatIsReplacedIsLookedThroughAndWatchedAgain) {
  const ScratchDirectory scratch;
  const auto place = scratch.path() / "place";
  std::filesystem::create_directory(place);
  Watched watched{place, {.told = std::chrono::hours{1}, .blind = std::chrono::milliseconds{5}}};

  std::filesystem::rename(place, scratch.path() / "away");
  std::filesystem::create_directory(place);
  ASSERT_TRUE(watched.hears(""));
  while (!watched.watch().complete()) {
    watched.forget();
    ASSERT_TRUE(watched.hears(""));
  }
  ASSERT_FALSE(replace_file(place / "file", "x"));

  EXPECT_TRUE(watched.hears("file"));
}

TEST(DirectoryWatch, LooksThroughWithoutBeingTold) {
  const ScratchDirectory scratch;
  Watched watched{scratch.path(), kLooksOften};

  ASSERT_TRUE(watched.hears(""));
  watched.forget();

  EXPECT_TRUE(watched.hears(""));
}

TEST(DirectoryWatch, MayBeEndedFromWithin) {
  const ScratchDirectory scratch;
  boost::asio::io_context io;
  std::unique_ptr<DirectoryWatch> watch;
  int calls = 0;
  watch = std::make_unique<DirectoryWatch>(
      io, std::vector{scratch.path()},
      [&](std::span<const DirectoryChange>) {
        ++calls;
        watch.reset();
      },
      kLooksOften);

  io.run_for(kPatience);

  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace sluice::files
