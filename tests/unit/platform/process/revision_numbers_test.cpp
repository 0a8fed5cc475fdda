#include "platform/process/revision_numbers.h"

#include "tests/unit/platform/process/temporary_directory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace sluice::local {
namespace {

TEST(RevisionNumbers, TheSameTemplateKeepsItsNumberOverAStart) {
  const TemporaryDirectory directory;
  {
    RevisionNumbers numbers{directory.path()};
    EXPECT_EQ(numbers.first("app", "a"), 1);
    EXPECT_EQ(numbers.next("app", "b"), 2);
    EXPECT_EQ(numbers.first("web", "a"), 1);
  }
  RevisionNumbers numbers{directory.path()};
  EXPECT_EQ(numbers.first("app", "b"), 2);
  EXPECT_EQ(numbers.first("app", "c"), 3);
  EXPECT_EQ(numbers.next("app", "c"), 4);
}

TEST(RevisionNumbers, ARemovedServiceGetsTheNextNumber) {
  RevisionNumbers numbers;
  EXPECT_EQ(numbers.first("app", "a"), 1);
  numbers.removed("app");
  EXPECT_EQ(numbers.first("app", "a"), 2);
}

TEST(RevisionNumbers, ATemplateThatServesAgainKeepsItsNumberAndNoNumberIsUsedTwice) {
  const TemporaryDirectory directory;
  {
    RevisionNumbers numbers{directory.path()};
    EXPECT_EQ(numbers.first("app", "a"), 1);
    EXPECT_EQ(numbers.next("app", "b"), 2);
    numbers.again("app", 1, "a");
  }
  RevisionNumbers numbers{directory.path()};
  EXPECT_EQ(numbers.first("app", "a"), 1);
  EXPECT_EQ(numbers.first("app", "b"), 3);
}

TEST(RevisionNumbers, ARecordThatCannotBeReadCountsAsNone) {
  const TemporaryDirectory directory;
  for (const char* text : {"", "{", "[]", R"({"last":"x"})", R"({"last":1,"newest":7})"}) {
    std::ofstream(directory.path() / "app.json") << text;
    RevisionNumbers numbers{directory.path()};
    EXPECT_EQ(numbers.first("app", "a"), 1) << text;
  }
}

}  // namespace
}  // namespace sluice::local
