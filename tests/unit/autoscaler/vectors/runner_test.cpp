#include "autoscaler/vectors/runner.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace sluice::vectors {
namespace {

// A directory of one test, gone with it.
class Vectors : public testing::Test {
 protected:
  Vectors() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        std::filesystem::path{testing::TempDir()} / ("vectors-" + std::string{test.name()});
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  ~Vectors() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{directory_ / name} << text;
  }

  // What is printed, then the closing numbers.
  [[nodiscard]] std::string play() const {
    std::ostringstream out;
    const Tally tally = play_directory(directory_.string(), out);
    out << tally.passed << " passed, " << tally.failed << " failed"
        << (tally.unreadable ? ", unreadable" : "");
    return out.str();
  }

  std::filesystem::path directory_;
};

TEST_F(Vectors, FailingCasesAreNamedWithFieldWantAndGot) {
  write("a.json", R"({"kind":"final_scale","version":1,"cases":[
    {"op":"bounds","min":2,"max":0,"desired":1,"want":2},
    {"op":"bounds","min":2,"max":0,"desired":1,"want":3},
    {"name":"low","op":"bounds","min":2,"max":0,"desired":1,"want":4}]})");

  EXPECT_EQ(play(), "a.json 1: want, 3, 2\na.json low: want, 4, 2\n1 passed, 2 failed");
}

TEST_F(Vectors, FieldsOfALaterStepCarryItsPlace) {
  write("w.json", R"({"kind":"max_window","version":1,"cases":[{"name":"w","epoch_unix":0,
    "duration_s":4,"granularity_s":2,"ops":[{"t":0,"v":3,"want":3},{"t":1,"v":2,"want":2}]}]})");

  EXPECT_EQ(play(), "w.json w: ops[1].want, 2, 3\n0 passed, 1 failed");
}

TEST_F(Vectors, FilesThatAreNoVectorsAreToldApart) {
  write("a.json", "{");
  write("b.json", "[]");
  write("c.json", R"({"version":1,"cases":[]})");
  write("d.json", R"({"kind":"windows","version":2,"cases":[]})");
  write("e.json", R"({"kind":"windows","version":1})");
  write("f.json", R"({"kind":"weather","version":1,"cases":[]})");
  write("g.txt", "ignored");

  EXPECT_EQ(play(),
            "a.json: is not valid JSON\n"
            "b.json: is not a JSON object\n"
            "c.json: has no \"kind\"\n"
            "d.json: is not of version 1\n"
            "e.json: has no list of \"cases\"\n"
            "f.json: has the unknown kind \"weather\"\n"
            "0 passed, 0 failed, unreadable");
}

TEST_F(Vectors, MalformedCasesFailAndTheRestIsPlayed) {
  write("a.json", R"({"kind":"windows","version":1,"cases":[7,
    {"name":"endless","kind":"linear","epoch_unix":0,"granularity_s":1,"window_s":1e9,"ops":[]},
    {"name":"good","kind":"linear","epoch_unix":0,"granularity_s":1,"window_s":5,"ops":[]}]})");

  const std::string text = play();

  EXPECT_NE(text.find("a.json endless: case, a readable case, window_s is not between"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n1 passed, 2 failed"), std::string::npos) << text;
}

TEST_F(Vectors, MissingDirectoryIsSaid) {
  std::ostringstream out;
  const Tally tally = play_directory((directory_ / "nowhere").string(), out);

  EXPECT_TRUE(tally.unreadable);
  EXPECT_NE(out.str().find("nowhere: cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace sluice::vectors
