#include "programs/sluice/commands/up.h"

#include <gtest/gtest.h>

#include "programs/sluice/commands/up_target.h"
#include "programs/sluice/commands/usage.h"
#include "programs/sluice/commands/verbs.h"
#include <cstdlib>
#include <sstream>
#include <unistd.h>

namespace sluice::commands {
namespace {

std::string refusal(const Arguments& args) {
  const auto parsed = parse_up(args);
  return parsed ? "accepted" : parsed.error().text;
}

// Runs a verb where no engine is; prints the exit code and what was said.
std::string outcome(const Arguments& args) {
  std::ostringstream out;
  std::ostringstream err;
  const Clock clock;
  const std::string nowhere = testing::TempDir() + "sluice-nowhere-" + std::to_string(::getpid());
  const Surroundings with{.out = out,
                          .err = err,
                          .clock = clock,
                          .roots = {.state = nowhere + "/s", .runtime = nowhere + "/r"}};
  const auto unused = [](const Arguments&) { return 99; };
  const int code = run_verb(with, args, unused, unused);
  return std::to_string(code) + " " + out.str() + err.str();
}

TEST(Up, TakesEverythingAfterTheDashesAsTheCommand) {
  const auto parsed = parse_up({"--max", "3", "--", "prog", "--max", "--", "$PORT"});

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->command, (std::vector<std::string>{"prog", "--max", "--", "$PORT"}));
  EXPECT_EQ(parsed->max, 3);
  EXPECT_EQ(parsed->name, "app");
}

TEST(Up, ReadsEveryFlagOfTheCommandForm) {
  const auto parsed = parse_up({"--name",   "shop", "--http",        "0.0.0.0:80",
                                "--target", "2.5",  "--concurrency", "20",
                                "--min",    "1",    "--window",      "15s",
                                "--env",    "A=1",  "--env",         "B=x=y",
                                "--cpu",    "500m", "--memory",      "64Mi",
                                "-d",       "-o",   "json",          "--allow-edit",
                                "--",       "prog"});

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text;
  EXPECT_TRUE(parsed->http_given && parsed->detach && parsed->allow_edit);
  EXPECT_EQ(parsed->target, 2.5);
  EXPECT_EQ(parsed->window, std::chrono::seconds{15});
  EXPECT_EQ(parsed->env[1], (std::pair<std::string, std::string>{"B", "x=y"}));
  EXPECT_EQ(parsed->memory_bytes, 64 << 20);
  EXPECT_EQ(parsed->cpu, 0.5);
}

TEST(Up, NamesTheEngineAfterItsFirstFile) {
  EXPECT_EQ(parse_up({"-f", "dir/shop.yaml", "-f", "b.yaml"})->name, "shop");
  EXPECT_EQ(refusal({"-f", "My App.yaml"}),
            "the file's name My App cannot name an engine; give --name NAME");
  EXPECT_EQ(refusal({"-f", "auto.yaml"}),
            "the file's name auto cannot name an engine; give --name NAME");
}

TEST(Up, RefusesEnginesThatAreCalledAsAWordOfLoad) {
  for (const char* flag : {"--name", "--engine"}) {
    EXPECT_EQ(refusal({flag, "off", "--", "prog"}),
              "off cannot name an engine: it is a word of sluice load --engine; give another name");
  }
}

TEST(Up, WithNothingToRunPrintsTheThreeLines) {
  EXPECT_EQ(refusal({}), kUpHelpLines);
}

TEST(Up, WithANameAloneResumes) {
  EXPECT_TRUE(parse_up({"--name", "shop"})->resume);
  EXPECT_TRUE(parse_up({"--engine", "shop", "-d"})->resume);
  EXPECT_FALSE(parse_up({"--name", "shop", "--", "prog"})->resume);
  EXPECT_EQ(refusal({"--name", "shop", "--min", "1"}),
            "--min belongs to the command form and --demo; give a command after --");
}

// The engine of `args` among `running`; "shop" has run before.
std::string chosen(const Arguments& args, const std::vector<std::string>& running) {
  const auto has_state = [](const std::string& name) { return name == "shop"; };
  const auto engine = choose_engine(*parse_up(args), running, has_state);
  return engine ? *engine : engine.error().text;
}

TEST(Up, TheFirstOneNamesItsEngine) {
  EXPECT_EQ(chosen({"--demo"}, {}), "app");
  EXPECT_EQ(chosen({"--name", "web", "--demo"}, {}), "web");
  EXPECT_EQ(chosen({"-f", "x/web.yaml"}, {}), "web");
  EXPECT_EQ(chosen({"--name", "web", "--engine", "e", "--demo"}, {}), "e");
}

TEST(Up, AFurtherOneAddsToTheEngineThatRuns) {
  EXPECT_EQ(chosen({"--demo"}, {"web"}), "web");
  EXPECT_EQ(chosen({"--name", "api", "--demo"}, {"web"}), "web");
  EXPECT_EQ(chosen({"-f", "x/shop.yaml"}, {"web"}), "web");
  EXPECT_EQ(chosen({"--name", "api", "--demo"}, {"api", "web"}), "api");
  EXPECT_EQ(chosen({"--demo"}, {"app", "web"}), "app");
  EXPECT_EQ(
      chosen({"--demo"}, {"api", "web"}),
      "several engines are running: api, web; choose one with --engine NAME, or give a new NAME "
      "to start another");
}

TEST(Up, AnEngineThatHasRunIsStartedByItsName) {
  EXPECT_EQ(chosen({"--name", "shop", "--demo"}, {"web"}), "shop");
  EXPECT_EQ(chosen({"--name", "api"}, {"web"}), "api");
  EXPECT_EQ(chosen({"--engine", "e", "--demo"}, {"web"}), "e");
}

TEST(Up, AProgramsNameBecomesALabel) {
  EXPECT_EQ(label_of("/usr/bin/python3.11"), "python3-11");
  EXPECT_EQ(label_of("./Server__A.py"), "server-a-py");
  EXPECT_EQ(label_of("--"), "program");
  EXPECT_EQ(label_of(std::string(100, 'x')), std::string(63, 'x'));
}

TEST(Up, AnImageTakesWhatFollowsAsItsArgumentsAndAnyNumberOfReplicasAtItsPort) {
  const auto parsed = parse_up({"--image", "web:1", "--port", "80", "--max", "4", "--", "-q"});

  ASSERT_TRUE(parsed.has_value()) << parsed.error().text;
  const local::ServiceSpec spec = command_service(*parsed);
  EXPECT_EQ(spec.image, "web:1");
  EXPECT_EQ(spec.args, std::vector<std::string>{"-q"});
  EXPECT_TRUE(spec.command.empty());
  EXPECT_EQ(spec.port_in_container(), 80);
  EXPECT_EQ(spec.template_annotations.at("autoscaling.knative.dev/max-scale"), "4");
}

TEST(Up, RefusesWrongFlagsWithTheFix) {
  const std::string several = "give one of -f, --demo, --image and a command, not several";
  EXPECT_EQ(refusal({"--demo", "--", "x"}), several);
  EXPECT_EQ(refusal({"--demo", "--image", "x"}), several);
  EXPECT_EQ(refusal({"--prot", "1", "--", "x"}), "unknown flag --prot; did you mean --port?");
  EXPECT_EQ(refusal({"python3"}),
            "unexpected argument python3; a command goes after --: sluice up -- python3");
  EXPECT_EQ(refusal({"--min", "4", "--max", "2", "--demo"}),
            "--min 4 is above --max 2; raise --max or lower --min");
  EXPECT_NE(refusal({"-f", "a.yaml", "--min", "1"}).find("write it into the file"),
            std::string::npos);
  EXPECT_NE(refusal({"--window", "1s", "--demo"}), "accepted");
  EXPECT_NE(refusal({"--http", "8080", "--demo"}), "accepted");
  EXPECT_NE(refusal({"--env", "=x", "--demo"}), "accepted");
  EXPECT_NE(refusal({"--name", "Shop", "--demo"}), "accepted");
  EXPECT_EQ(refusal({"--name", "sluice", "--demo"}),
            "--name: sluice cannot name a service: sluice.localhost is the engine's own host; "
            "give another");
  EXPECT_EQ(refusal({"--name", "sluice", "-f", "a.yaml"}), "accepted");
  EXPECT_NE(refusal({"--port", "70000", "--demo"}), "accepted");
}

TEST(Up, AFixedPortMeansOneReplica) {
  EXPECT_EQ(parse_up({"--port", "3000", "--", "x"})->max, 1);
  EXPECT_NE(refusal({"--port", "3000", "--max", "2", "--", "x"}), "accepted");
}

TEST(Verbs, WithoutAnEngineEndWith69) {
  const std::string told = "69 no engine is running; start one: sluice up -- COMMAND\n";
  EXPECT_EQ(outcome({"get"}), told);
  EXPECT_EQ(outcome({"explain", "app"}), told);
  EXPECT_EQ(outcome({"down"}), told);
  EXPECT_EQ(outcome({"wake", "app"}), told);
}

TEST(Verbs, UnknownOnesAndFlagsEndWith2AndASuggestion) {
  EXPECT_EQ(outcome({"explian", "app"}), "2 unknown verb explian; did you mean explain?\n");
  EXPECT_EQ(outcome({"logs", "app", "--tial", "3"}),
            "2 unknown flag --tial; did you mean --tail?\n");
  EXPECT_EQ(outcome({"scale", "app"}), "2 give --min N, --max N or both\n");
  EXPECT_EQ(outcome({"explain", "app", "--awake", "--at", "5m"}),
            "2 --awake covers the last minute only; remove --at\n");
}

TEST(Verbs, AFlagThatRequiresAnotherFlagEndsWith2) {
  EXPECT_EQ(outcome({"doctor", "--namespace", "serving"}),
            "2 --namespace requires --knative; see: sluice doctor --help\n");
}

TEST(Verbs, AServerIsNamedByItsUrlAndAnswersSomeOfThem) {
  EXPECT_EQ(outcome({"--server", "http://localhost:8082", "down"}),
            "2 down is not for a server; with --server: explain, get, history, record, scale, "
            "sleep, top, "
            "wake\n");
  EXPECT_EQ(outcome({"--server", "localhost:8082", "get"}),
            "2 --server: localhost:8082 is not the URL of a server; give http://HOST:PORT, such as "
            "http://localhost:8082\n");
  EXPECT_TRUE(outcome({"--token-file", "/nowhere", "get"}).starts_with("2 --token-file: /nowhere"));
  EXPECT_TRUE(outcome({"--server", "http://127.0.0.1:1", "get"})
                  .starts_with("69 the server 127.0.0.1:1 does not answer"));
}

TEST(Verbs, TheUrlOfAServerHasAHostAndPerhapsAPort) {
  EXPECT_EQ(parse_server("http://scaler.system.svc/")->at.port, 8082);
  EXPECT_EQ(parse_server("http://[::1]:80")->at.host, "::1");
  EXPECT_EQ(parse_server("http://[::1]:80")->at.port, 80);
  for (const char* wrong : {"", "http://", "https://a", "http://a:b", "http://a/api",
                            "http://a:", "http://a:65536", "http://u@a", "ftp://a"}) {
    EXPECT_FALSE(parse_server(wrong)) << wrong;
  }
}

TEST(Verbs, HelpBeginsWithTwoExamples) {
  for (const VerbLine& line : verb_lines()) {
    if (line.name != "up" && line.name != "load") {
      const std::string help = outcome({std::string(line.name), "--help"});
      EXPECT_TRUE(help.starts_with("0 Examples:\n" + std::string(line.examples))) << help;
    }
  }
}

}  // namespace
}  // namespace sluice::commands
