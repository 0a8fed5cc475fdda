#include "common/files/file_io.h"

#include "common/time/clock.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::files {
namespace {

std::ptrdiff_t entries(const std::filesystem::path& directory) {
  return std::distance(std::filesystem::directory_iterator{directory}, {});
}

TEST(FileIo, ReadsWholeFilesUpToTheLimit) {
  const ScratchDirectory scratch;
  scratch.write("full", std::string(kFileBytesMax, 'x'));
  scratch.write("over", std::string(kFileBytesMax + 1, 'x'));

  const auto full = read_file(scratch.path() / "full");
  const auto over = read_file(scratch.path() / "over");

  ASSERT_TRUE(full.has_value());
  EXPECT_EQ((*full)->size(), kFileBytesMax);
  ASSERT_FALSE(over.has_value());
  EXPECT_NE(over.error().what.find("over is larger than 4 MiB"), std::string::npos);
}

TEST(FileIo, AMissingFileIsNotAProblem) {
  const ScratchDirectory scratch;

  const auto missing = read_file(scratch.path() / "missing");

  ASSERT_TRUE(missing.has_value());
  EXPECT_FALSE(missing->has_value());
}

TEST(FileIo, AnythingButARegularFileIsAProblemAndDoesNotBlock) {
  const ScratchDirectory scratch;
  ASSERT_EQ(::mkfifo((scratch.path() / "pipe").c_str(), 0600), 0);

  EXPECT_FALSE(read_file(scratch.path() / "pipe").has_value());
  EXPECT_FALSE(read_file(scratch.path()).has_value());
}

TEST(FileIo, AFileThatHasItsContentAlreadyIsNotWrittenAgain) {
  const ScratchDirectory scratch;
  const auto file = scratch.path() / "file";
  const auto inode = [&file] {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? info.st_ino : 0;
  };
  ASSERT_FALSE(keep_file(file, "one", 0600));
  const auto first = inode();

  ASSERT_FALSE(keep_file(file, "one", 0600));
  EXPECT_EQ(inode(), first);
  ASSERT_FALSE(keep_file(file, "two", 0600));
  EXPECT_EQ(read_file(file)->value(), "two");
}

TEST(FileIo, ReplacesWithoutLeavingAnythingBehind) {
  const ScratchDirectory scratch;

  ASSERT_FALSE(replace_file(scratch.path() / "file", "one"));
  ASSERT_FALSE(replace_file(scratch.path() / "file", "two"));

  EXPECT_EQ(**read_file(scratch.path() / "file"), "two");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(FileIo, AFailedReplacementNamesTheFileAndLeavesTheOld) {
  const ScratchDirectory scratch;
  std::filesystem::create_directories(scratch.path() / "taken" / "by a directory");

  const auto nowhere = replace_file(scratch.path() / "no" / "file", "x");
  const auto taken = replace_file(scratch.path() / "taken", "x");

  ASSERT_TRUE(nowhere.has_value());
  EXPECT_NE(nowhere->what.find("no/file cannot be written"), std::string::npos);
  EXPECT_EQ(nowhere->fix, "make its directory first");
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->fix, "give the name of a file");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(FileIo, AnOutputIsWrittenToWhatIsThere) {
  const ScratchDirectory scratch;
  scratch.write("target", "old");
  std::filesystem::create_symlink("target", scratch.path() / "link");
  EXPECT_FALSE(write_output(scratch.path() / "link", "new"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() / "link"));
  EXPECT_EQ(**read_file(scratch.path() / "target"), "new");

  const std::filesystem::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_FALSE(write_output(pipe, "piped"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  char got[8] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 5);
  EXPECT_STREQ(got, "piped");
  ::close(reader);

  EXPECT_FALSE(write_output(scratch.path() / "fresh", "x"));
  EXPECT_TRUE(write_output(scratch.path(), "x")) << "a directory";
}

TEST(FileIo, AnOutputKeepsThePermissionsOfTheFileItReplaces) {
  const ScratchDirectory scratch;
  scratch.write("private", "old");
  ASSERT_EQ(::chmod((scratch.path() / "private").c_str(), 0600), 0);

  auto file = OutputFile::open(scratch.path() / "private");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->write("ne"));
  EXPECT_EQ(**read_file(scratch.path() / "private"), "old");
  EXPECT_FALSE(file->write("w"));
  EXPECT_FALSE(file->finish());

  EXPECT_EQ(**read_file(scratch.path() / "private"), "new");

  struct stat status {};

  ASSERT_EQ(::stat((scratch.path() / "private").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(FileIo, AnOutputThatIsNotFinishedLeavesWhatWasThere) {
  const ScratchDirectory scratch;
  scratch.write("file", "old");
  {
    auto file = OutputFile::open(scratch.path() / "file");
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->write("half"));
  }
  EXPECT_EQ(**read_file(scratch.path() / "file"), "old");
  EXPECT_EQ(entries(scratch.path()), 1);
}

TEST(FileIo, AnOutputGoesToWhereALinkLeadsThatLeadsToNothingYet) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink("link", scratch.path() / "first");
  std::filesystem::create_symlink("target", scratch.path() / "link");

  EXPECT_FALSE(write_output(scratch.path() / "first", "new"));

  EXPECT_TRUE(std::filesystem::is_symlink(scratch.path() / "first"));
  EXPECT_EQ(**read_file(scratch.path() / "target"), "new");
}

TEST(FileIo, AnOutputThatIsReadOnlyIsNotReplaced) {
  const ScratchDirectory scratch;
  scratch.write("kept", "old");
  ASSERT_EQ(::chmod((scratch.path() / "kept").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0777), 0);
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;  // who may write everything
  if (root) {
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const auto problem = write_output(scratch.path() / "kept", "new");
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }

  ASSERT_TRUE(problem);
  EXPECT_NE(problem->what.find("kept cannot be written: Permission denied"), std::string::npos);
  EXPECT_EQ(**read_file(scratch.path() / "kept"), "old");
}

// Goal: what a killed writer left goes, what a living one writes stays.
TEST(FileIo, OnlyOldLeftoversAreRemoved) {
  const ScratchDirectory scratch;
  scratch.write(std::string{kTemporaryPrefix} + "1-0", "half");
  scratch.write("kept.json", "{}");
  const TimePoint now = Clock{}.now();

  remove_leftovers(scratch.path(), now);
  EXPECT_EQ(entries(scratch.path()), 2);
  remove_leftovers(scratch.path(), now + std::chrono::minutes{2});

  EXPECT_EQ(entries(scratch.path()), 1);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "kept.json"));
}

}  // namespace
}  // namespace sluice::files
