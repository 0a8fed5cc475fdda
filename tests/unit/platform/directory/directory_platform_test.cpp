#include "platform/directory/directory_platform.h"

#include "common/files/file_io.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

namespace sluice::autoscaler {
namespace {

using files::ScratchDirectory;

const RevisionId kApp{"default", "app"};

class NoListener final : public model::Listener {
 public:
  void on_revision(model::Revision /*revision*/) override {}

  void on_revision_gone(const RevisionId& /*revision*/) override {}
};

class DirectoryPlatformTest : public ::testing::Test {
 protected:
  DirectoryPlatformTest() {
    std::filesystem::create_directory(scratch_.path() / "revisions");
    open(platform_);
  }

  void open(DirectoryPlatform& platform) {
    EXPECT_FALSE(platform.open(listener_, TimePoint{}, [](const std::optional<Problem>& problem) {
      EXPECT_FALSE(problem);
    }));
  }

  [[nodiscard]] bool can_order() const { return platform_.checks().at(1).good; }

  std::string written() {
    const auto content = files::read_file(scratch_.path() / "scale" / "default.app.json");
    return content && *content ? **content : "";
  }

  ScratchDirectory scratch_;
  log::Logger log_{"test", log::Severity::error};
  boost::asio::io_context io_;
  NoListener listener_;
  DirectoryPlatform platform_{io_, scratch_.path(), log_};
};

TEST_F(DirectoryPlatformTest, WritesFullStateWithAVersionThatGrowsWithEveryChange) {
  EXPECT_FALSE(platform_.last(kApp).has_value());

  platform_.apply(kApp, {.replicas = 2, .remove = {}});
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":2,\"version\":1}\n");
  platform_.apply(kApp, {.replicas = 2, .remove = {}});
  platform_.apply(kApp, {.replicas = 1, .remove = {{"p"}}});

  EXPECT_EQ(written(), "{\"remove\":[\"p\"],\"replicas\":1,\"version\":2}\n");
}

TEST_F(DirectoryPlatformTest, ARestartContinuesFromTheLastOrders) {
  platform_.apply(kApp, {.replicas = 2, .remove = {{"p"}}});

  DirectoryPlatform next{io_, scratch_.path(), log_};
  open(next);

  EXPECT_EQ(next.last(kApp), (ScaleOrder{.replicas = 2, .remove = {{"p"}}}));
  next.apply(kApp, {.replicas = 3, .remove = {}});
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":3,\"version\":2}\n");
}

TEST_F(DirectoryPlatformTest, AMalformedOrderIsWrittenAgain) {
  ASSERT_FALSE(files::replace_file(scratch_.path() / "scale" / "default.app.json", "{"));

  EXPECT_FALSE(platform_.last(kApp).has_value());
  platform_.apply(kApp, {.replicas = 1, .remove = {}});

  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":1,\"version\":1}\n");
}

TEST_F(DirectoryPlatformTest, AnOrderThatCannotBeWrittenIsTriedAgain) {
  std::filesystem::rename(scratch_.path() / "scale", scratch_.path() / "away");
  platform_.apply(kApp, {.replicas = 1, .remove = {}});
  EXPECT_FALSE(can_order());

  std::filesystem::rename(scratch_.path() / "away", scratch_.path() / "scale");
  platform_.apply(kApp, {.replicas = 1, .remove = {}});

  EXPECT_TRUE(can_order());
  EXPECT_EQ(written(), "{\"remove\":[],\"replicas\":1,\"version\":1}\n");
}

TEST_F(DirectoryPlatformTest, ARevisionHasNoOrderAfterForget) {
  platform_.apply(kApp, {.replicas = 1, .remove = {}});

  platform_.forget(kApp);

  EXPECT_EQ(written(), "");
  EXPECT_FALSE(platform_.last(kApp).has_value());
}

}  // namespace
}  // namespace sluice::autoscaler
