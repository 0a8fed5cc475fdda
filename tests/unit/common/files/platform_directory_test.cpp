#include "common/files/platform_directory.h"

#include "common/files/file_io.h"
#include "tests/unit/common/files/scratch_directory.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::files {
namespace {

constexpr std::chrono::seconds kPatience{20};

/// Records its calls, as in "+a(1) -b activators:2".
class Diary final : public model::Listener {
 public:
  void on_revision(model::Revision revision) override {
    add("+" + revision.id.name + "(" + std::to_string(revision.pods.size()) + ")");
  }

  void on_revision_gone(const RevisionId& revision) override { add("-" + revision.name); }

  void on_activators(std::vector<net::Address> activators) override {
    add("activators:" + std::to_string(activators.size()));
  }

  std::optional<Problem> on_config(const StringMap& settings) override {
    if (settings.contains("wrong")) return Problem{"wrong is wrong", ""};
    add("settings:" + std::to_string(settings.size()));
    return std::nullopt;
  }

  void on_settled() override { ++settled; }

  std::string take() { return std::exchange(text_, {}); }

  int settled = 0;

 private:
  void add(const std::string& line) { text_ += (text_.empty() ? "" : " ") + line; }

  std::string text_;
};

class PlatformDirectoryTest : public ::testing::Test {
 protected:
  PlatformDirectoryTest() {
    std::filesystem::create_directory(scratch_.path() / "revisions");
    log_.set_json(true);
  }

  void open(WatchPace pace = {}) {
    platform_ =
        std::make_unique<PlatformDirectory>(io_, scratch_.path(), diary_, log_,
                                            PlatformOptions{.activators = true,
                                                            .settings_file = "settings.json",
                                                            .revisions_max = 3,
                                                            .pace = pace});
    ASSERT_FALSE(platform_->open());
  }

  void put(const std::string& name, const std::string& content) {
    ASSERT_FALSE(replace_file(scratch_.path() / name, content));
  }

  void put_revision(const std::string& name, int pods = 0) {
    std::string list;
    for (int i = 0; i < pods; ++i) {
      list += (i == 0 ? R"({"name":"p)" : R"(,{"name":"p)") + std::to_string(i) + R"("})";
    }
    put("revisions/default." + name + ".json", R"({"namespace":"default","name":")" + name +
                                                   R"(","service":")" + name + R"(","pods":[)" +
                                                   list + "]}");
  }

  void remove(const std::string& name) { std::filesystem::remove(scratch_.path() / name); }

  /// Runs until `condition` holds; the calls until then.
  std::string after(const std::function<bool()>& condition) {
    while (!condition()) {
      if (io_.run_one_for(kPatience) == 0) return "nothing came";
    }
    return diary_.take();
  }

  /// Runs until a call was recorded.
  std::string next() {
    std::string told;
    return after([&] {
             told += diary_.take();
             return !told.empty();
           }) == "nothing came"
               ? "nothing came"
               : told;
  }

  /// Whether a file is wrong now.
  std::function<bool()> wrong(const std::string& name) {
    return [this, name] { return platform_->wrong().contains(name); };
  }

  ScratchDirectory scratch_;
  boost::asio::io_context io_;
  log::Logger log_{"test", log::Severity::error};
  Diary diary_;
  std::unique_ptr<PlatformDirectory> platform_;
};

TEST_F(PlatformDirectoryTest, TellsAllThereIsBeforeItFollows) {
  put_revision("a", 1);
  put_revision("b");
  put("activators.json", R"(["1.1.1.1:1"])");
  put("settings.json", R"({"k":"v"})");

  open();

  EXPECT_EQ(diary_.take(), "settings:1 activators:1 +a(1) +b(0)");
  EXPECT_EQ(diary_.settled, 1);
}

TEST_F(PlatformDirectoryTest, FollowsFilesThatComeChangeAndGo) {
  open();
  EXPECT_EQ(diary_.take(), "");

  put_revision("a");
  EXPECT_EQ(next(), "+a(0)");
  put_revision("a", 2);
  EXPECT_EQ(next(), "+a(2)");
  put("activators.json", R"(["1.1.1.1:1","1.1.1.2:1"])");
  EXPECT_EQ(next(), "activators:2");
  remove("revisions/default.a.json");
  EXPECT_EQ(next(), "-a");
  remove("activators.json");
  EXPECT_EQ(next(), "activators:0");
}

TEST_F(PlatformDirectoryTest, AWrongFileChangesNothingUntilItIsRight) {
  put_revision("a", 1);
  open();
  EXPECT_EQ(diary_.take(), "+a(1)");

  put("revisions/default.a.json", "{\"namespace\"");
  EXPECT_EQ(after(wrong("revisions/default.a.json")), "");
  EXPECT_EQ(platform_->revisions(), 1U);
  put_revision("a", 2);
  EXPECT_EQ(next(), "+a(2)");

  EXPECT_TRUE(platform_->wrong().empty());
}

TEST_F(PlatformDirectoryTest, AWrongFileThatGoesTakesItsRevisionWithIt) {
  put_revision("a", 1);
  open();
  diary_.take();
  put("revisions/default.a.json", "nonsense");
  after(wrong("revisions/default.a.json"));

  remove("revisions/default.a.json");

  EXPECT_EQ(next(), "-a");
  EXPECT_TRUE(platform_->wrong().empty());
}

TEST_F(PlatformDirectoryTest, TheSameContentIsNoNews) {
  put_revision("a", 1);
  open();
  diary_.take();

  put_revision("a", 1);
  put_revision("b");

  EXPECT_EQ(next(), "+b(0)");
}

TEST_F(PlatformDirectoryTest, OtherFilesAreWrongOrPassedOver) {
  put("revisions/README", "about");
  put("revisions/.default.a.json.swp", "x");

  open();

  EXPECT_EQ(diary_.take(), "");
  EXPECT_EQ(platform_->wrong().size(), 1U);
  EXPECT_TRUE(platform_->wrong().contains("revisions/README"));
}

TEST_F(PlatformDirectoryTest, SettingsThatAreRejectedEndTheStartAndLaterChangeNothing) {
  put("settings.json", R"({"wrong":"1"})");
  {
    PlatformDirectory refused{
        io_, scratch_.path(), diary_, log_, {.settings_file = "settings.json", .pace = {}}};
    const auto problem = refused.open();
    ASSERT_TRUE(problem.has_value());
    EXPECT_NE(problem->what.find("settings.json: wrong is wrong"), std::string::npos);
  }

  put("settings.json", R"({"k":"v"})");
  open();
  EXPECT_EQ(diary_.take(), "settings:1");
  put("settings.json", R"({"wrong":"1"})");
  EXPECT_EQ(after(wrong("settings.json")), "");
  remove("settings.json");
  EXPECT_EQ(next(), "settings:0");
}

TEST_F(PlatformDirectoryTest, TooManyRevisionsAreNotTaken) {
  for (const char* name : {"a", "b", "c", "d"}) put_revision(name);

  open();

  EXPECT_EQ(diary_.take(), "+a(0) +b(0) +c(0)");
  EXPECT_TRUE(platform_->wrong().contains("revisions/default.d.json"));
}

// Goal: a directory that vanishes says nothing about what was in it.
TEST_F(PlatformDirectoryTest, AMissingDirectoryChangesNothing) {
  put_revision("a");
  open({.told = std::chrono::hours{1}, .blind = std::chrono::milliseconds{5}});
  diary_.take();

  std::filesystem::rename(scratch_.path() / "revisions", scratch_.path() / "away");
  EXPECT_EQ(after(wrong("revisions")), "");
  EXPECT_EQ(platform_->revisions(), 1U);
  std::filesystem::rename(scratch_.path() / "away", scratch_.path() / "revisions");
  after([this] { return platform_->wrong().empty(); });
  remove("revisions/default.a.json");

  EXPECT_EQ(next(), "-a");
}

TEST_F(PlatformDirectoryTest, AMissingPathIsAProblemThatNamesIt) {
  PlatformDirectory nowhere{io_, scratch_.path() / "nowhere", diary_, log_};

  const auto problem = nowhere.open();

  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->what.find("nowhere cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace sluice::files
