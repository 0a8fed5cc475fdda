#include "load/io/replay_cells.h"

#include <gtest/gtest.h>

#include "load/core/load_plan.h"
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>

namespace sluice::loadgen {
namespace {

class ReplayCellsTest : public ::testing::Test {
 protected:
  ReplayCellsTest() {
    std::string pattern = testing::TempDir() + "replay-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ + "/trace";
  }

  ~ReplayCellsTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const {
    std::ofstream{path_, std::ios::binary | std::ios::trunc} << text;
  }

  [[nodiscard]] Replay replay() const { return {.trace = {path_, {}}}; }

  // All requests of it, or the problem.
  [[nodiscard]] std::string sent(ReplayPart part = {}) const {
    LoadPlan plan;
    plan.phases[0].replay = replay();
    plan.phases[0].replay->part = part;
    auto cells = ReplayCells::open(*plan.phases[0].replay);
    if (!cells) return cells.error().text();
    Pacer pacer{plan, {[&cells](const CellSink& sink) { return cells->read(sink); }}};
    std::uint64_t requests = 0;
    Duration last{0};
    for (; pacer.next(); ++requests) {
      const Duration at = pacer.take().at;
      EXPECT_GE(at, last);
      EXPECT_LE(at, plan.phases[0].replay->length);
      last = at;
    }
    EXPECT_FALSE(cells->problem());
    EXPECT_EQ(requests, plan.phases[0].replay->requests);
    return std::to_string(requests);
  }

  std::string folder_;
  std::string path_;
};

TEST_F(ReplayCellsTest, AreReadAsTheyAreNeeded) {
  std::string text = "at_s,path\n";
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i / 100) + ",/some/path/of/it\n";
  write(text);

  EXPECT_EQ(sent(), "100000");
}

TEST_F(ReplayCellsTest, OfManyFunctionsAreInOrder) {
  std::string text = "HashOwner,HashApp,HashFunction,Trigger,1,2,3,4,5\n";
  for (int i = 0; i < 100; ++i) text += "o,a,f" + std::to_string(i) + ",http,1,2,0,4,5\n";
  write(text);

  EXPECT_EQ(sent(), "1200");
}

TEST_F(ReplayCellsTest, OfAPartAreThoseThatBeginInIt) {
  using namespace std::chrono_literals;
  write("at_s,method\n1,GET\n2,POST\n3,GET\n3.5,GET\n4,GET\n");

  EXPECT_EQ(sent({.from = 2s, .until = 4s}), "2");
  EXPECT_EQ(sent({.from = 2s, .until = 4s, .methods = Methods::all}), "3");
  EXPECT_EQ(sent({.until = 1500ms}), "1");
  EXPECT_TRUE(sent({.from = 5s}).starts_with("--replay has no request in the part")) << sent();
  EXPECT_TRUE(sent({.from = 2s, .until = 3s}).starts_with("--replay has no request with GET"));
}

TEST_F(ReplayCellsTest, OfAPartOfManyFunctionsAreWholeMinutes) {
  using namespace std::chrono_literals;
  write("HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,1,2,4\no,a,g,http,0,8,16\n");

  EXPECT_EQ(sent({.from = 1min, .until = 2min}), "10");
  EXPECT_EQ(sent({.from = 30s}), "30");
}

TEST_F(ReplayCellsTest, AreRefusedWithTheReason) {
  EXPECT_EQ(sent(),
            "cannot read '" + path_ + "': No such file or directory; check the path of the trace");
  write("at_s\nx\n");
  EXPECT_TRUE(sent().starts_with("'" + path_ + "', no request in it")) << sent();
  write("at_s,method\n1,POST\n");
  EXPECT_TRUE(sent().starts_with("--replay has no request with GET")) << sent();
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  path_ = folder_ + "/pipe";
  EXPECT_TRUE(sent().starts_with("--replay reads its trace twice")) << sent();
}

TEST_F(ReplayCellsTest, EndWhereATraceThatChangedCannotBeRead) {
  write("at_s\n1\n");
  Replay once = replay();
  auto cells = ReplayCells::open(once);
  ASSERT_TRUE(cells);
  write("when\n1\n");

  EXPECT_FALSE(cells->read([](const TraceCell&) {}));

  ASSERT_TRUE(cells->problem());
  EXPECT_TRUE(cells->problem()->what.starts_with("'" + path_ + "', line 1: "));
}

}  // namespace
}  // namespace sluice::loadgen
