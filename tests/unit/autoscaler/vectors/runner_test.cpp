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

TEST_F(Vectors, FilesThatAreNotVectorsAreReportedWithTheReason) {
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

// One file per kind whose single case leaves out, or sets to null, all that may be absent.
TEST_F(Vectors, AbsentKeysAndNullsMeanZeroFalseOrNone) {
  const auto kind = [this](const std::string& name, const std::string& item) {
    write(name + ".json", R"({"kind":")" + name + R"(","version":1,"cases":[)" + item + "]}");
  };
  kind("active_condition", R"({"state":"inactive","expect":{"threshold":1,"state":"inactive",
    "reason":"NoTraffic"}})");
  kind("annotations", R"({"annotations":null,"config":null,"accepted":true})");
  kind("autoscaler", R"({"config":{"target_value":7,"max_scale_down_rate":2,"panic_threshold":2,
    "max_scale_up_rate":10,"stable_window_s":6,"panic_window_s":1},"ticks":[
    {"t":2,"update":null,"ready_error":null,"expect":{"num_activators":2,"scale_valid":true}},
    {"t":4,"stats":[{"t":4,"c":5},{"r":3}],"ready_pods":1,"expect":{"stable":1,"panic":5,
     "desired":1,"bounded":1,"num_activators":2,"scale_valid":true}}]})");
  kind("config_map", R"({"data":{"initial-scale":"0"}})");
  kind("decider_status", R"({"events":[{"trigger":"tick","result":{},"status":{"desired":-1}}],
    "initial":{"desired":-1}})");
  kind("final_scale", R"({"op":"bounds"},{"op":"num_activators","want":2})");
  kind("hashing", R"({"op":"choose_subset","from":["a","b"],"want":[]})");
  kind("max_window", R"({"duration_s":4,"granularity_s":2,"ops":[{}]})");
  kind("request_stats", R"({"ops":[{"op":"in"},{"op":"report","want":{"request_count":1}}]})");
  kind("resolve", R"({"want":{"target_value":70,"total_value":100,"target_burst_capacity":211,
    "activator_capacity":100,"max_scale_up_rate":1000,"max_scale_down_rate":2,"panic_threshold":2,
    "stable_window_s":60,"panic_window_s":6,"initial_scale":1,"reachable":true,
    "has_scrape_target":true,"scaling_metric":"concurrency","aggregation":"linear"}})");
  kind("sampling", R"({"op":"sample_size"},{"op":"scrape_average","ready_pods":3,"sample_size":1,
    "stats":[{"c":2}],"want":{"c":6}})");
  kind("scale_to_zero", R"({"pa_state":"active","config":{"enable_scale_to_zero":true},
    "expect":{}})");
  kind("windows", R"({"kind":"linear","granularity_s":1,"window_s":5,"ops":[
    {"op":"is_empty","want_empty":true},{"op":"record"},{"op":"average"},{"op":"is_empty"}]})");

  EXPECT_EQ(play(), "15 passed, 0 failed");
}

TEST_F(Vectors, NothingWrittenIsNotZeroWritten) {
  write("z.json", R"({"kind":"scale_to_zero","version":1,"cases":[{"pa_state":"inactive",
    "config":{"enable_scale_to_zero":true},"current_replicas":3,"activator_probe":"ok",
    "expect":{"sync_probe_called":true}}]})");

  EXPECT_EQ(play(),
            "z.json 0: expect.applied_replicas, \"none\", 0\n"
            "0 passed, 1 failed");
}

TEST_F(Vectors, ValuesOfTheWrongTypeFailTheirCase) {
  write("a.json", R"({"kind":"final_scale","version":1,"cases":[
    {"op":"bounds","min":"2","want":2}, {"op":"bounds","min":2.5,"want":2},
    {"op":"bounds","min":4294967298,"want":2}, {"op":"bounds","min":true,"want":1},
    {"op":"bounds","min":[2],"want":2}, {"op":"lift"}, null, [], "bounds", {}]})");
  write("b.json", R"({"kind":"windows","version":1,"cases":[
    {"kind":"cubic","window_s":5,"granularity_s":1,"ops":[]},
    {"kind":"linear","window_s":5,"granularity_s":1,"ops":{}},
    {"kind":"linear","window_s":5,"granularity_s":1},
    {"kind":"linear","window_s":5,"granularity_s":1,"epoch_unix":1e300,"ops":[]},
    {"kind":"linear","window_s":5,"granularity_s":1,"ops":[{"op":"record","t":"soon"}]}]})");
  write("c.json", R"({"kind":"config_map","version":1,"cases":[
    {"data":{"min-scale":1},"accepted":true}, {"data":["min-scale"],"accepted":true},
    {"data":{},"accepted":true,"parsed":[]}]})");

  const std::string text = play();

  EXPECT_NE(text.find("\n0 passed, 18 failed"), std::string::npos) << text;
}

TEST_F(Vectors, CasesOfOneNameAreEachCounted) {
  write("a.json", R"({"kind":"final_scale","version":1,"cases":[
    {"name":"twin","op":"bounds"}, {"name":"twin","op":"bounds","want":1}]})");

  EXPECT_EQ(play(), "a.json twin: want, 1, 0\n1 passed, 1 failed");
}

TEST_F(Vectors, EmptyDirectoryHoldsNoCase) {
  EXPECT_EQ(play(), "0 passed, 0 failed");
}

TEST_F(Vectors, DirectoryNamedLikeAFileIsReported) {
  std::filesystem::create_directories(directory_ / "a.json");

  EXPECT_NE(play().find("a.json: cannot be read"), std::string::npos);
}

TEST_F(Vectors, MissingDirectoryIsReported) {
  std::ostringstream out;
  const Tally tally = play_directory((directory_ / "nowhere").string(), out);

  EXPECT_TRUE(tally.unreadable);
  EXPECT_NE(out.str().find("nowhere: cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace sluice::vectors
