#include "common/values/rfc3339.h"
#include "tests/unit/autoscaler/io/records_of.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platform/process/paths.h"
#include "platform/process/time_text.h"
#include "programs/sluice/engine/history.h"
#include "programs/sluice/engine/kept_services.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace sluice::local {
namespace {

using nlohmann::json;
using std::chrono::hours;
using std::chrono::seconds;

class State : public testing::Test {
 protected:
  State() {
    std::string pattern = testing::TempDir() + "sluice-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }

  ~State() override { std::filesystem::remove_all(dir_); }

  std::filesystem::path dir_;
};

TEST(TimeText, ReadsWhatItWrites) {
  const auto at = parse_rfc3339("2026-11-20T14:03:12.061Z");
  ASSERT_TRUE(at);
  EXPECT_EQ(format_time(*at), "2026-11-20T14:03:12.061Z");
  EXPECT_EQ(parse_moment("5m", *at), *at - std::chrono::minutes{5});
  EXPECT_FALSE(parse_age("5 apples"));
}

TEST(TimeText, ATimeLastsAsLongAsTheUnitItIsWrittenIn) {
  const TimePoint at = *parse_rfc3339("2026-11-20T14:03:12Z");
  const Duration tick{1};
  EXPECT_EQ(parse_moment_end("2026-11-20T14:03:12Z", at), at + seconds{1} - tick);
  EXPECT_EQ(parse_moment_end("2026-11-20T15:03:12.061+01:00", at),
            at + std::chrono::milliseconds{62} - tick);
  EXPECT_EQ(parse_moment_end("2026-11-20T14:03:12.000000001Z", at), at + tick);
  EXPECT_EQ(parse_moment_end("14:03:12", at), *parse_moment("14:03:12", at) + seconds{1} - tick);
  EXPECT_EQ(parse_moment_end("1.5s", at), at - std::chrono::milliseconds{1500});
  EXPECT_FALSE(parse_moment_end("soon", at));
}

TEST(TimeText, AMomentOfAnotherDayHasItsDate) {
  ::setenv("TZ", "UTC", 1);
  const TimePoint at = *parse_rfc3339("2026-11-20T14:03:12.061Z");
  EXPECT_EQ(format_moment(at, at + hours{9}), "14:03:12.061");
  EXPECT_EQ(format_moment(at, at + hours{10}), "2026-11-20 14:03:12.061");
}

TEST_F(State, HistoryAnswersByServiceAndTime) {
  History history({.file = dir_ / "history.db"}, {});
  const TimePoint begin{hours{1000}};
  for (int i = 0; i < 5; ++i) {
    history.record_decision(i == 3 ? "other" : "app", begin + seconds{i}, {{"n", i}});
  }
  ASSERT_TRUE(history.flush(seconds{20}));
  EXPECT_EQ(json(records_of(history.decisions("app", begin + seconds{1}))).dump(),
            R"([{"n":1},{"n":2},{"n":4}])");
  EXPECT_EQ(history.decision_at("app", begin + seconds{3})->dump(), R"({"n":2})");
  EXPECT_FALSE(history.decision_at("app", begin - seconds{1}));
}

TEST_F(State, HistoryIsReadALittleInEachCallTheNewestOfTooMany) {
  History history({.file = dir_ / "history.db"}, {});
  const TimePoint begin{hours{1000}};
  for (int i = 0; i < 500; ++i) history.record_decision("app", begin + seconds{i}, {{"n", i}});
  model::Revision of;
  of.service = "app";
  for (int i = 0; i < 120; ++i) history.record_cold_start(of, begin + seconds{i}, {{"c", i}});
  ASSERT_TRUE(history.flush(seconds{20}));

  const auto records = history.decisions("app", begin, 400);
  int calls = 1;
  while (records->find()) ++calls;
  EXPECT_GE(calls, 8);
  ASSERT_EQ(records->count(), 400U);
  std::string text;
  records->write(text, 0);
  EXPECT_EQ(text, R"({"n":100})");
  const auto starts = records_of(history.cold_starts(of, begin));
  ASSERT_EQ(starts.size(), 100U);
  EXPECT_EQ(starts.front()["c"], 119);
  EXPECT_EQ(starts.back()["c"], 20);
}

TEST_F(State, HistoryDropsOldAndExcessEntries) {
  History history({.file = dir_ / "history.db", .age_max = hours{1}, .bytes_max = 256 << 10}, {});
  const TimePoint begin{hours{1000}};
  history.record_decision("app", begin, {{"n", 0}});
  ASSERT_TRUE(history.flush(seconds{20}));
  for (int i = 0; i < 2000; ++i) {
    history.record_decision("app", begin + hours{2}, {{"pad", std::string(500, 'x')}});
  }
  ASSERT_TRUE(history.flush(seconds{20}));
  EXPECT_FALSE(history.decision_at("app", begin + hours{1}));
  EXPECT_LT(records_of(history.decisions("app", begin, 5000)).size(), 1500U);
}

// Goal: what is lost is named, and no more is lost once the disk is there. Method: a directory
// stands where the history's directory is to be, and then does not.
TEST_F(State, HistoryThatCannotBeKeptWarnsOnceAndNamesWhatIsMissing) {
  const TimePoint begin{hours{1000}};
  std::atomic<int> warnings = 0;
  std::ofstream(dir_ / "disk") << "no directory";
  History history({.file = dir_ / "disk" / "history.db"}, [&](const Problem&) { ++warnings; });
  for (int i = 0; i < 3; ++i) {
    history.record_decision("app", begin + seconds{i}, {{"n", i}});
    ASSERT_TRUE(history.flush(seconds{20}));
  }
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(history.dropped(), 3U);
  EXPECT_TRUE(records_of(history.decisions("app", TimePoint{})).empty());
  EXPECT_TRUE(history.not_kept("other", begin).empty());
  EXPECT_TRUE(history.not_kept("app", begin + hours{1}).empty());
  const auto lost = history.not_kept("app", begin);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].dump(), R"({"count":3,"from":"1970-02-11T16:00:00Z","lasts":true,)"
                            R"("reason":"not a directory","to":"1970-02-11T16:00:02Z"})");

  std::filesystem::remove(dir_ / "disk");
  history.record_decision("app", begin + hours{1}, {{"n", 3}});
  ASSERT_TRUE(history.flush(seconds{20}));

  EXPECT_EQ(records_of(history.decisions("app", begin)).size(), 1U);
  ASSERT_EQ(history.not_kept("app", begin).size(), 1U);
  EXPECT_EQ(history.not_kept("app", begin)[0]["lasts"], false);
  EXPECT_EQ(warnings, 1);
}

TEST_F(State, AHistoryThatWasDeletedIsMadeAgain) {
  const TimePoint begin{hours{1000}};
  History history({.file = dir_ / "state" / "history.db"}, {});
  history.record_decision("app", begin, {{"n", 0}});
  ASSERT_TRUE(history.flush(seconds{20}));
  std::filesystem::remove_all(dir_ / "state");
  history.record_decision("app", begin, {{"n", 1}});
  ASSERT_TRUE(history.flush(seconds{20}));
  EXPECT_EQ(json(records_of(history.decisions("app", begin))).dump(), R"([{"n":1}])");
}

TEST_F(State, ABrokenHistoryIsSetAsideAndReplaced) {
  std::filesystem::copy_file("/proc/self/exe", dir_ / "history.db");
  std::vector<std::string> warnings;
  const TimePoint now{hours{1000}};
  History history({.file = dir_ / "history.db", .opened = now},
                  [&](const Problem& problem) { warnings.push_back(problem.text()); });
  history.record_decision("app", now, {{"n", 1}});
  ASSERT_TRUE(history.flush(seconds{20}));
  EXPECT_EQ(records_of(history.decisions("app", TimePoint{})).size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(dir_ / "history.db.broken"));
  const std::string file = (dir_ / "history.db").string();
  EXPECT_EQ(warnings, std::vector<std::string>{file +
                                               " was damaged; the history begins again; what "
                                               "was in it is in " +
                                               file + ".broken"});
  EXPECT_TRUE(history.not_kept("app", now + seconds{1}).empty());
  EXPECT_EQ(
      json(history.not_kept("app", now)).dump(),
      R"([{"lasts":false,"reason":")" + file + R"( was damaged","to":"1970-02-11T16:00:00Z"}])");
}

TEST_F(State, OneEngineHoldsANameAndTheSecondGetsTheHolder) {
  const EnginePaths paths({.state = dir_ / "s", .runtime = dir_ / "r"}, "app");
  ASSERT_FALSE(make_runtime_dir(paths));
  {
    const auto first = EngineLock::take(paths);
    ASSERT_TRUE(first.has_value());
    const auto second = EngineLock::take(paths);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().exit_code, 75);
    EXPECT_EQ(name_holder(paths), std::to_string(::getpid()));
    EXPECT_EQ(held_names({.state = dir_ / "s", .runtime = dir_ / "r"}),
              std::vector<std::string>{"app"});
    EXPECT_NE(second.error().problem.text().find("pid " + std::to_string(::getpid())),
              std::string::npos);
    EXPECT_NE(second.error().problem.text().find("--engine NAME"), std::string::npos);
  }
  EXPECT_FALSE(name_holder(paths));
  EXPECT_TRUE(EngineLock::take(paths).has_value());
  EXPECT_TRUE(running_engines(dir_ / "r").empty());
}

ServiceSpec service(const std::string& name, const std::string& argument = "x") {
  ServiceSpec spec;
  spec.name = name;
  spec.command = {"prog", argument};
  spec.working_dir = "/";
  return spec;
}

class Kept : public State {
 protected:
  Kept() { EXPECT_FALSE(make_state_dir(paths_)); }

  // The names that a new start finds, those of commands in brackets.
  std::string found() {
    KeptServices kept(paths_);
    const auto reading = kept.read({});
    std::string list;
    for (const auto& each : reading.services) {
      const bool applied = each.by == BroughtBy::apply;
      list += (list.empty() ? "" : " ") + (applied ? each.spec.name : "(" + each.spec.name + ")");
    }
    for (const Problem& problem : reading.problems) list += "\n" + problem.text();
    return list;
  }

  const EnginePaths paths_{{.state = dir_ / "s", .runtime = dir_ / "r"}, "app"};
};

TEST_F(Kept, ServicesAreFoundAgainWithWhatBroughtThem) {
  EXPECT_FALSE(KeptServices::any(paths_));
  KeptServices kept(paths_);
  EXPECT_FALSE(kept.keep(service("b"), BroughtBy::apply));
  EXPECT_FALSE(kept.keep(service("a"), BroughtBy::command));
  EXPECT_TRUE(KeptServices::any(paths_));
  EXPECT_EQ(found(), "b (a)");
  KeptServices again(paths_);
  EXPECT_EQ(again.read({}).services.front().spec, service("b"));
}

TEST_F(Kept, AServiceIsKeptOnceWhateverBringsIt) {
  KeptServices kept(paths_);
  EXPECT_FALSE(kept.keep(service("a"), BroughtBy::command));
  EXPECT_FALSE(kept.keep(service("a", "y"), BroughtBy::apply));
  EXPECT_EQ(found(), "a");
  EXPECT_EQ(kept.brought_by("a"), BroughtBy::apply);
  kept.forget("a");
  EXPECT_EQ(found(), "");
  EXPECT_FALSE(kept.brought_by("a"));
}

TEST_F(Kept, AFileThatCannotBeReadIsNamedBesideTheOthers) {
  KeptServices kept(paths_);
  EXPECT_FALSE(kept.keep(service("good"), BroughtBy::apply));
  std::ofstream(paths_.specs_dir() / "bad.yaml") << "kind: Nothing\n";
  EXPECT_TRUE(found().starts_with("good\n" + (paths_.specs_dir() / "bad.yaml").string()))
      << found();
}

TEST_F(Kept, ASpecThatCannotBeRemovedStaysKept) {
  KeptServices kept(paths_);
  EXPECT_FALSE(kept.keep(service("app"), BroughtBy::apply));
  const std::filesystem::path file = paths_.specs_dir() / "app.yaml";
  std::filesystem::remove(file);
  std::filesystem::create_directories(file / "in the way");
  const auto refused = kept.forget("app");
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->what.starts_with("cannot remove " + file.string())) << refused->what;
  EXPECT_EQ(kept.brought_by("app"), BroughtBy::apply);
}

TEST_F(Kept, TheRecordOfAStartIsReadBack) {
  const StartRecord record{.files = {"/srv/a.yaml"}, .http = "127.0.0.1:9000", .config = "/c"};
  EXPECT_EQ(KeptServices(paths_).start(), StartRecord{});
  EXPECT_FALSE(KeptServices(paths_).keep_start(record));
  EXPECT_EQ(KeptServices(paths_).start(), record);
  EXPECT_TRUE(KeptServices::any(paths_));
}

TEST(Paths, FollowTheXdgRules) {
  const auto env = [](std::string_view name) -> std::optional<std::string> {
    if (name == "HOME") {
      return "/srv/me";
    }
    return name == "XDG_RUNTIME_DIR" ? std::optional<std::string>("relative") : std::nullopt;
  };
  const auto roots = path_roots(env, 1234);
  ASSERT_TRUE(roots.has_value());
  EXPECT_EQ(roots->state, "/srv/me/.local/state/sluice");
  EXPECT_EQ(roots->runtime, "/tmp/sluice-1234");
}

TEST(Paths, SocketsOfTheLongestNamesFitIntoAnAddress) {
  const std::string longest(63, 'n');
  const EnginePaths paths({.state = "/s", .runtime = "/run/user/1000/sluice"}, longest);
  const auto first = paths.replica_dir(longest + "-00001-1");
  EXPECT_LE((first / kServingSocket).native().size(), kSocketPathMax);
  EXPECT_NE(first, paths.replica_dir(longest + "-00001-2"));
  const EnginePaths other({.state = "/s", .runtime = "/run/user/1000/sluice"}, longest.substr(1));
  EXPECT_NE(first, other.replica_dir(longest + "-00001-1"));
}

}  // namespace
}  // namespace sluice::local
