#include "platform/directory/directory_platform.h"

#include "common/files/file_io.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using files::ScratchDirectory;

const RevisionId kApp{"default", "app"};

class DirectoryScaleSinkTest : public ::testing::Test {
 protected:
  DirectoryScaleSinkTest() { EXPECT_FALSE(sink_.open(TimePoint{})); }

  std::string written() {
    const auto content = files::read_file(scratch_.path() / "scale" / "default.app.json");
    return content && *content ? **content : "";
  }

  ScratchDirectory scratch_;
  log::Logger log_{"test", log::Severity::error};
  DirectoryScaleSink sink_{scratch_.path(), log_};
};

TEST_F(DirectoryScaleSinkTest, WritesFullStateWithAVersionThatGrowsWithEveryChange) {
  EXPECT_FALSE(sink_.last(kApp).has_value());

  sink_.apply(kApp, {.replicas = 2, .remove = {}});
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":2,\"version\":1}\n");
  sink_.apply(kApp, {.replicas = 2, .remove = {}});
  sink_.apply(kApp, {.replicas = 1, .remove = {{"p"}}});

  EXPECT_EQ(written(), "{\"remove\":[\"p\"],\"replicas\":1,\"version\":2}\n");
}

TEST_F(DirectoryScaleSinkTest, AnotherLifeGoesOnWhereTheLastEnded) {
  sink_.apply(kApp, {.replicas = 2, .remove = {{"p"}}});

  DirectoryScaleSink next{scratch_.path(), log_};
  ASSERT_FALSE(next.open(TimePoint{}));

  EXPECT_EQ(next.last(kApp), (ScaleOrder{.replicas = 2, .remove = {{"p"}}}));
  next.apply(kApp, {.replicas = 3, .remove = {}});
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":3,\"version\":2}\n");
}

TEST_F(DirectoryScaleSinkTest, AnOrderThatIsNonsenseIsWrittenAnew) {
  ASSERT_FALSE(files::replace_file(scratch_.path() / "scale" / "default.app.json", "{"));

  EXPECT_FALSE(sink_.last(kApp).has_value());
  sink_.apply(kApp, {.replicas = 1, .remove = {}});

  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":1,\"version\":1}\n");
}

TEST_F(DirectoryScaleSinkTest, AnOrderThatCannotBeWrittenIsTriedAgain) {
  std::filesystem::rename(scratch_.path() / "scale", scratch_.path() / "away");
  sink_.apply(kApp, {.replicas = 1, .remove = {}});
  EXPECT_EQ(sink_.failures(), 1U);

  std::filesystem::rename(scratch_.path() / "away", scratch_.path() / "scale");
  sink_.apply(kApp, {.replicas = 1, .remove = {}});

  EXPECT_EQ(sink_.failures(), 0U);
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":1,\"version\":1}\n");
}

TEST_F(DirectoryScaleSinkTest, ARevisionThatIsNoMoreHasNoOrder) {
  sink_.apply(kApp, {.replicas = 1, .remove = {}});

  sink_.forget(kApp);

  EXPECT_EQ(written(), "");
  EXPECT_FALSE(sink_.last(kApp).has_value());
}

}  // namespace
}  // namespace sluice::autoscaler
