#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "load/io/compare_options.h"
#include "load/io/foreign_flags.h"
#include "load/io/options.h"
#include "programs/sluice/commands/completion_text.h"
#include "programs/sluice/commands/usage.h"
#include "programs/sluice/commands/verbs.h"
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace sluice::commands {
namespace {

/// Runs command lines where no engine is.
class Line {
 public:
  int run(const Arguments& args) {
    out_.str("");
    err_.str("");
    const auto help = [this](const Arguments&) {
      out_ << "of another room\n";
      return 0;
    };
    return run_verb(with_, args, help, help);
  }

  [[nodiscard]] std::string out() const { return out_.str(); }

  [[nodiscard]] std::string err() const { return err_.str(); }

  [[nodiscard]] std::vector<VerbTable> tables() const { return verb_tables(with_); }

 private:
  std::ostringstream out_;
  std::ostringstream err_;
  Clock clock_;
  Surroundings with_{.out = out_,
                     .err = err_,
                     .clock = clock_,
                     .roots = {.state = "/nonexistent/s", .runtime = "/nonexistent/r"},
                     .show_load_flags = loadgen::show_flags,
                     .foreign_load_flag = loadgen::foreign_flag,
                     .show_compare_flags = loadgen::show_compare_flags};
};

const VerbTable& of(const std::vector<VerbTable>& tables, std::string_view verb) {
  return *std::find_if(tables.begin(), tables.end(),
                       [&](const VerbTable& table) { return table.name == verb; });
}

const FlagLine* flag(const VerbTable& table, const std::string& name) {
  for (const FlagLine& line : table.flags) {
    if (std::find(line.names.begin(), line.names.end(), name) != line.names.end()) return &line;
  }
  return nullptr;
}

TEST(VerbTables, HaveEveryVerbThatHelpListsWithItsHelpFlag) {
  const auto tables = Line{}.tables();

  ASSERT_EQ(tables.size(), verb_lines().size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    EXPECT_EQ(tables[i].name, verb_lines()[i].name);
    EXPECT_NE(flag(tables[i], "--help"), nullptr) << tables[i].name;
    EXPECT_FALSE(tables[i].about.empty()) << tables[i].name;
    for (const FlagLine& line : tables[i].flags) EXPECT_FALSE(line.about.empty());
  }
}

TEST(VerbTables, AreThoseOfTheParserItself) {
  const auto tables = Line{}.tables();

  EXPECT_EQ(flag(of(tables, "get"), "-o")->words,
            (std::vector<std::string>{"table", "wide", "json", "yaml"}));
  EXPECT_EQ(flag(of(tables, "up"), "-o")->words, (std::vector<std::string>{"text", "json"}));
  EXPECT_EQ(flag(of(tables, "up"), "--http")->value, "HOST:PORT");
  EXPECT_TRUE(flag(of(tables, "up"), "--env")->repeated);
  EXPECT_EQ(flag(of(tables, "up"), "--demo")->value, "");
  EXPECT_EQ(flag(of(tables, "apply"), "--file")->kind, ValueKind::file);
  EXPECT_EQ(flag(of(tables, "apply"), "--engine")->kind, ValueKind::engine);
  EXPECT_EQ(of(tables, "explain").arguments.at(0).kind, ValueKind::service);
  EXPECT_TRUE(of(tables, "explain").arguments.at(0).required);
  EXPECT_EQ(of(tables, "load").arguments.at(0).name, "URL");
}

TEST(Completion, OfEachShellHasEveryVerbAndLongFlag) {
  const auto tables = Line{}.tables();
  Line line;

  for (const char* shell : {"bash", "zsh", "fish"}) {
    ASSERT_EQ(line.run({"completion", shell}), 0) << line.err();
    const std::string script = line.out();
    for (const VerbTable& verb : tables) {
      EXPECT_NE(script.find(verb.name), std::string::npos) << shell << " " << verb.name;
      for (const FlagLine& known : verb.flags) {
        const std::string name = known.names.back();
        const std::string written =
            std::string_view{shell} == "fish" ? " -l " + name.substr(2) : name;
        EXPECT_NE(script.find(written), std::string::npos) << shell << " " << name;
      }
    }
    EXPECT_NE(script.find(kNamesVerb), std::string::npos);
  }
  EXPECT_EQ(line.run({"completion", "csh"}), 2);
  EXPECT_EQ(line.run({kNamesVerb, "services"}), 0);
  EXPECT_EQ(line.out() + line.err(), "");
}

TEST(Help, OfAVerbIsWhatTheVerbItselfPrints) {
  Line line;
  for (const VerbLine& verb : verb_lines()) {
    ASSERT_EQ(line.run({std::string(verb.name), "--help"}), 0);
    const std::string own = line.out();
    ASSERT_EQ(line.run({"help", std::string(verb.name)}), 0);
    EXPECT_EQ(line.out(), own);
  }
  ASSERT_EQ(line.run({"help"}), 0);
  EXPECT_EQ(line.out(), general_help());
  EXPECT_EQ(line.run({"help", "explian"}), 2);
  EXPECT_EQ(line.err(), "unknown verb explian; did you mean explain?\n");
  EXPECT_EQ(line.run({"help", "bogus"}), 2);
  EXPECT_EQ(line.err(), "unknown verb bogus; see: sluice --help\n");
}

TEST(Verbs, WordsOfOtherToolsAreAnsweredWithOneLineThatNamesAVerb) {
  std::set<std::string_view> verbs;
  for (const VerbLine& verb : verb_lines()) verbs.insert(verb.name);
  Line line;
  for (const OtherWord& other : other_words()) {
    EXPECT_FALSE(verbs.contains(other.word)) << other.word << " is a verb";
    EXPECT_EQ(line.run({std::string(other.word)}), 2);
    EXPECT_EQ(line.err(), "unknown verb " + std::string(other.word) +
                              "; use: " + std::string(other.use) + "\n");
    const std::string use = std::string(other.use) + " ";
    const std::size_t verb = use.find("sluice ") + 7;
    EXPECT_TRUE(verbs.contains(use.substr(verb, use.find_first_of(" ,;", verb) - verb)))
        << other.use;
  }
  line.run({"stop"});
  EXPECT_EQ(line.err(),
            "unknown verb stop; use: sluice down stops an engine; sluice sleep SERVICE drains one "
            "service\n");
}

TEST(Verbs, TheVersionIsPrintedByFlagsToo) {
  Line line;
  for (const char* word : {"-v", "-V", "--version", "version"}) {
    EXPECT_EQ(line.run({word}), 0);
    EXPECT_TRUE(line.out().starts_with("sluice ")) << line.out();
  }
}

TEST(Verbs, AWrongFlagIsNamedWithItsValueAndWhatTheVerbTakes) {
  const std::pair<Arguments, std::string> lines[] = {
      {{"apply", "--nonsense"}, "unknown flag --nonsense; see: sluice apply --help"},
      {{"get", "--outptu", "json"}, "unknown flag --outptu; did you mean --output?"},
      {{"apply", "app.yaml"},
       "unexpected argument app.yaml; a file goes after -f: sluice apply -f app.yaml"},
      {{"explain"}, "SERVICE is required; see: sluice explain --help"},
      {{"get", "-o"}, "-o: the value is missing; give -o table|wide|json|yaml"},
      {{"logs", "a", "--since", "--follow"}, "--since: the value is missing; give --since AGE"},
      {{"load", "http://a", "--rate"}, "--rate: the value is missing; give --rate FLOAT"},
      {{"get", "-o", "xml"},
       "--output: xml is none of table, wide, json, yaml; see: sluice get --help"},
      {{"completion", "csh"},
       "SHELL: csh is none of bash, zsh, fish; see: sluice completion --help"},
      {{"logs", "a", "--tail", "-1"},
       "--tail: -1 is not a number from 0 to 10000; see: sluice logs --help"},
      {{"load", "http://a", "--rate", "x"}, "--rate: x is not a number; see: sluice load --help"},
      {{"load", "http://a", "-t", "20"},
       "-t: in hey the timeout in seconds, in wrk the threads, in fortio the duration; give "
       "--timeout or --duration, like --timeout 20s"},
      {{"load", "a", "b"}, "unexpected argument b; see: sluice load --help"},
      {{"apply", "-f", "x", "--dry-run=maybe"},
       "--dry-run takes no value; see: sluice apply --help"},
      {{"wake", "a", "--timeout", "1s", "--timeout", "2s"},
       "--timeout is given more than once; see: sluice wake --help"},
      {{"explain", "a", "--at", "noon"},
       "--at: noon is neither an age such as 10m nor a time such as 14:03 or 2026-11-20T14:03:12Z"},
      {{"get", "--engine"}, "--engine: the value is missing; give --engine NAME"},
      {{"--server"}, "--server: the value is missing; give --server URL"},
      {{"get", "--server", "http://a"}, "--server stands before the verb: sluice --server URL get"},
      {{"--engine", "a", "get"},
       "unknown flag --engine before the verb; flags of a verb stand after it; see: sluice --help"},
      {{"-x"}, "unknown flag -x before the verb; did you mean -v?"},
      {{"fooo"}, "unknown verb fooo; see: sluice --help"}};
  Line line;
  for (const auto& [args, told] : lines) {
    EXPECT_EQ(line.run(args), 2) << told;
    EXPECT_EQ(line.err(), told + "\n");
  }
}

class Config : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::ofstream{path_} << text;
    return path_;
  }

  void TearDown() override { std::remove(path_.c_str()); }

  Line line_;

 private:
  std::string path_ = testing::TempDir() + "config-" + std::to_string(::getpid()) + ".yaml";
};

TEST_F(Config, PrintsEveryKeyWithItsValueAndItsPlace) {
  const std::string path = file("max-replicas: 7\nqueue:\n  depth: 3\n");

  ASSERT_EQ(line_.run({"config", "--config", path, "--log-level", "warn", "-o", "json"}), 0)
      << line_.err();
  const auto all = nlohmann::json::parse(line_.out());
  std::map<std::string, nlohmann::json> keys;
  for (const auto& key : all["settings"]) keys[key["key"]] = key;

  EXPECT_EQ(all["file"], path);
  EXPECT_EQ(keys["max-replicas"]["value"], "7");
  EXPECT_EQ(keys["max-replicas"]["default"], "200");
  EXPECT_EQ(keys["max-replicas"]["where"], path + ":1");
  EXPECT_EQ(keys["queue.depth"]["where"], path + ":3");
  EXPECT_EQ(keys["queue.total"]["from"], "default");
  EXPECT_EQ(keys["log-level"]["from"], "flag");
  EXPECT_EQ(keys["log-level"]["where"], "--log-level");
  EXPECT_EQ(keys["autoscaler.stable-window"]["value"], "60s");
  EXPECT_EQ(keys["autoscaler.allow-zero-initial-scale"]["value"], "true");
}

TEST_F(Config, OfAFileNamesEveryProblemByItsLine) {
  const std::string path = file(
      "http: 127.0.0.1:8080\nmax-replica: 1\nqueue:\n  depth: many\n"
      "autoscaler: {stable-window: 1s,\n  max-scale-up-rate: '0'}\n");

  EXPECT_EQ(line_.run({"config", "--check", path}), 78);
  std::set<std::string> lines;
  std::istringstream told{line_.err()};
  for (std::string text; std::getline(told, text);) {
    EXPECT_TRUE(text.starts_with(path + ":")) << text;
    lines.insert(text.substr(path.size() + 1, 1));
  }
  EXPECT_EQ(lines, (std::set<std::string>{"2", "4", "5", "6"})) << line_.err();

  EXPECT_EQ(line_.run({"config", "--check", file("http: nowhere:x\n")}), 78);
  EXPECT_TRUE(line_.err().starts_with(path + ":1: ")) << line_.err();
  EXPECT_EQ(line_.run({"config", "--check", file("log-level: warn\n")}), 0);
  EXPECT_EQ(line_.out(), path + " is good: 1 key is set\n");
  EXPECT_EQ(line_.run({"config", "--check", "/nonexistent"}), 78);
}

}  // namespace
}  // namespace sluice::commands
