#include "load/io/scenario.h"

#include <gtest/gtest.h>

#include "load/io/options.h"
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace sluice::loadgen {
namespace {

using namespace std::chrono_literals;

Result<std::string, Problem> body_of(const std::string& path) {
  if (path != "/plans/charge.json") return Problem{"cannot read the body from '" + path + "'", ""};
  return Result<std::string, Problem>{boost::system::in_place_value, std::string{"{\"cents\": 5}"}};
}

Result<LoadPlan, ScenarioProblems> parse(const std::string& text) {
  return parse_scenario(text, "plan.yaml", "/plans", body_of);
}

// The problems, one a line; empty if there are none.
std::string problems_of(const std::string& text) {
  const auto plan = parse(text);
  std::string out;
  if (plan) return out;
  for (const Problem& problem : plan.error().problems) out += problem.text() + "\n";
  return out;
}

// A scenario with these phases and, after them, other keys.
std::string with_phases(const std::string& phases, const std::string& more = "") {
  return "targets: {app: {url: localhost}}\nphases:\n" + phases + "\n" + more;
}

TEST(Scenario, ReadsEverything) {
  const auto read = parse(R"(
name: shop-step
seed: 7
arrivals: uniform
defaults: {timeout: 5s, headers: {Accept: text/plain, X-One: 1}, max-connections: 20, reuse: 100}
targets:
  shop: {url: "http://shop.localhost:8080/item/{n%1000}", headers: {accept: application/json}}
  pay: {url: "pay.localhost:8080/charge", method: PUT, body: {file: charge.json}}
phases:
  - {name: calm, for: 10s, rate: 20, mix: {shop: 9, pay: 1}}
  - {name: ramp, for: 4s, rate: {ramp: [20, 400]}}
  - {name: wave, for: 3s, rate: {sine: [10, 50], period: 1s}}
  - {name: peak, for: 2s, rate: {spike: 90}}
  - {name: quiet, for: 1m, rate: 0}
  - {name: recorded, replay: {file: day.csv, speed: 4, times: 2, from: 5s, until: 1m, unsafe: true}}
assert:
  - p99 < 250ms
  - pay.error_rate@calm < 0.1%
)");
  ASSERT_TRUE(read) << problems_of("");
  const LoadPlan& plan = *read;

  EXPECT_EQ(plan.name, "shop-step");
  EXPECT_EQ(plan.seed, 7U);
  EXPECT_EQ(plan.arrivals, Arrivals::uniform);
  EXPECT_EQ(plan.timeout, 5s);
  EXPECT_EQ(plan.connections, 20U);
  EXPECT_EQ(plan.reuse, 100U);
  ASSERT_EQ(plan.targets.size(), 2U);
  EXPECT_EQ(plan.targets[0].headers, (std::vector<std::pair<std::string, std::string>>{
                                         {"X-One", "1"}, {"accept", "application/json"}}));
  EXPECT_FALSE(plan.targets[0].path.is_fixed());
  EXPECT_EQ(plan.targets[1].method, "PUT");
  EXPECT_EQ(plan.targets[1].body, "{\"cents\": 5}");
  EXPECT_EQ(plan.targets[1].target.port, 8080);
  ASSERT_EQ(plan.phases.size(), 6U);
  EXPECT_EQ(plan.phases[0].mix, (std::vector<double>{9, 1}));
  EXPECT_EQ(plan.phases[1].segments, (std::vector<Segment>{{20, 4s, 400}}));
  EXPECT_EQ(plan.phases[2].segments, (std::vector<Segment>{{10, 3s, 50, Curve::sine, 1s}}));
  // A spike begins with the rate before it: 10 at the end of the wave.
  EXPECT_EQ(plan.phases[3].segments, (std::vector<Segment>{{10, 1s, 90}, {90, 1s, 10}}));
  EXPECT_EQ(plan.phases[5].replay->trace.file, "/plans/day.csv");
  EXPECT_EQ(plan.phases[5].replay->speed, 4);
  EXPECT_EQ(plan.phases[5].replay->part.from, 5s);
  EXPECT_EQ(plan.phases[5].replay->part.until, 60s);
  EXPECT_EQ(plan.phases[5].replay->part.methods, Methods::all);
  EXPECT_EQ(plan.begin_of(4), 19s);
  ASSERT_EQ(plan.conditions.size(), 3U);
  EXPECT_EQ(plan.conditions[1].target, "pay");
  EXPECT_EQ(plan.conditions[2].text, "generator == on_time");
}

TEST(Scenario, LeavesTheGeneratorToAnAssertionOfItsOwn) {
  const auto plan = parse(
      with_phases("- {name: a, for: 1s, rate: 1}", "assert: ['generator != late', 'p50 < 1s']"));

  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->conditions.size(), 2U);
}

TEST(Scenario, NamesWhatIsWrongWithItsLine) {
  struct Case {
    std::string text;
    const char* problem;
  };

  for (const Case& wrong : {
           Case{with_phases("- {name: a, for: 1s, rate: {spik: 9}}"),
                "plan.yaml:3: unknown key `spik` in `rate`; did you mean `spike`?\n"},
           Case{with_phases("- {name: a, for: 1s, rate: -5}"), "plan.yaml:3: not a rate: `-5`"},
           Case{with_phases("- {name: a, for: 1s, rate: {ramp: [1, -2]}}"),
                "plan.yaml:3: not a rate: `-2`"},
           Case{with_phases("- {name: a, for: 1s, rate: 2000000}"),
                "plan.yaml:3: `rate`: a rate above 1000000/s"},
           Case{with_phases("- {name: a, for: 1s, rate: {ramp: 5}}"),
                "plan.yaml:3: `rate`: not two rates"},
           Case{with_phases("- {name: a, for: 1s, rate: {sine: [1, 2]}}"),
                "plan.yaml:3: `rate`: a sine has no period"},
           Case{with_phases("- {name: a, for: 1s, rate: {ramp: [1, 2], step: 3}}"), "two shapes"},
           Case{with_phases("- {name: a, for: 1s, rate: {}}"), "names no shape"},
           Case{with_phases("- {name: a, for: 1s, rate: {period: 1s}}"), "names no shape"},
           Case{with_phases("- {name: a, for: 1s, rate: '5:1s, 9'}"), "not a rate: `5:1s, 9`"},
           Case{with_phases("- {name: a, for: 0s, rate: 1}"), "plan.yaml:3: `for` is 0 s"},
           Case{with_phases("- {name: a, for: 25h, rate: 1}"), "`for` is longer than a day"},
           Case{with_phases("- {name: a, for: 24h, rate: 1}\n- {name: b, for: 1s, rate: 1}"),
                "the phases last longer than a day"},
           Case{with_phases("- {name: a, for: 1s, rate: 0}"), "the scenario sends nothing"},
           Case{with_phases("- {name: a, rate: 1}"), "the phase has no `for`"},
           Case{with_phases("- {name: a, for: 1s}"), "the phase has no `rate`"},
           Case{with_phases("- {for: 1s, rate: 1}"), "the phase has no `name`"},
           Case{with_phases("- {name: a b, for: 1s, rate: 1}"), "not a name: `a b`"},
           Case{with_phases("- {name: a, for: 1s, rate: 1}\n- {name: a, for: 1s, rate: 1}"),
                "plan.yaml:4: two phases are called `a`"},
           Case{with_phases("- {name: a, for: 1s, rate: 1, mix: {pay: 1}}"),
                "`mix`: there is no target `pay`"},
           Case{with_phases("- {name: a, for: 1s, rate: 1, mix: {app: 0}}"),
                "`mix` gives no target a share"},
           Case{with_phases("- {name: a, for: 1s, replay: {file: x.csv}}"),
                "has its rates and its length from the trace"},
           Case{with_phases("- {name: a, replay: {speed: 2}}"), "`replay` has no `file`"},
           Case{with_phases("- {name: a, replay: {file: x.csv, from: 2s, until: 2s}}"),
                "`until` is not after `from`"},
           Case{with_phases("- {name: a, for: 1s, rate: 1}", "asert: []"),
                "plan.yaml:4: unknown key `asert` in `scenario`; did you mean `assert`?"},
           Case{with_phases("- {name: a, for: 1s, rate: 1}", "assert: ['p99 < 3']"),
                "assert 'p99 < 3': '3' is no time"},
           Case{with_phases("- {name: a, for: 1s, rate: 1}", "defaults: {reuse: often}"),
                "plan.yaml:4: `reuse` is not always, never or a number"},
           Case{"targets: {app: {url: 'http://a/{m}'}}\nphases: []",
                "no such part of a path: '{m}'"},
           Case{"targets: {app: {url: 'http://a', body: {file: gone.json}}}\nphases: []",
                "plan.yaml:1: `file`: cannot read the body from '/plans/gone.json'"},
           Case{"targets: {app: {method: GET}}\nphases: []", "target `app` has no `url`"},
           Case{"targets: {errors: {url: http://a}}\nphases: []",
                "a target cannot be called as a figure: `errors`"},
           Case{"targets: {a: {url: http://a, headers: {Content-Length: 1}}}\nphases: []",
                "`Content-Length`: the header Content-Length is set from the body"},
           Case{"targets: {a: {url: ftp://a}}\nphases: []", "plan.yaml:1: `url`: the URL does not"},
           Case{"phases: []", "the scenario has no targets"},
           Case{"targets: {a: {url: http://a}}", "the scenario has no phases"},
           Case{"[1, 2]", "must be a mapping"},
           Case{"a: [", "plan.yaml:"},
           Case{"", "the file has 0 documents"},
           Case{"a: 1\n---\nb: 1\n", "the file has 2 documents"},
       }) {
    EXPECT_NE(problems_of(wrong.text).find(wrong.problem), std::string::npos)
        << wrong.text << "\n"
        << problems_of(wrong.text);
  }
}

TEST(Scenario, HasLimits) {
  const auto targets = [](int count) {
    std::string text = "targets:\n";
    for (int i = 0; i < count; ++i) text += "  t" + std::to_string(i) + ": {url: http://a}\n";
    return text + "phases: [{name: a, for: 1s, rate: 1}]\n";
  };
  EXPECT_EQ(problems_of(targets(100)), "");
  EXPECT_NE(problems_of(targets(101)).find("`targets` has 101 targets; give at most 100"),
            std::string::npos);

  std::string phases;
  for (int i = 0; i < 1000; ++i) {
    phases += "- {name: p" + std::to_string(i) + ", for: 1s, rate: 1}\n";
  }
  EXPECT_EQ(problems_of(with_phases(phases)), "");
  EXPECT_NE(problems_of(with_phases(phases + "- {name: q, for: 1s, rate: 1}"))
                .find("`phases` has more than 1000 items"),
            std::string::npos);

  EXPECT_NE(problems_of(std::string(kScenarioBytesMax + 1, '#')).find("larger than 1 MiB"),
            std::string::npos);
}

TEST(Scenario, MarksAFileWhoseOnlyProblemsAreUnknownFigures) {
  const auto unknown_figure = [](const char* assertions) {
    const auto plan = parse(with_phases("- {name: a, for: 1s, rate: 1}", assertions));
    return !plan && plan.error().unknown_figure;
  };

  EXPECT_TRUE(unknown_figure("assert: ['p99th < 1s']"));
  EXPECT_TRUE(unknown_figure("assert: ['gone.p99 < 1s']"));
  EXPECT_TRUE(unknown_figure("assert: ['p99@gone < 1s']"));
  EXPECT_FALSE(unknown_figure("assert: ['p99 < 1']"));
  EXPECT_FALSE(unknown_figure("assert: ['p99th < 1s']\nseeed: 1"));
}

// A scenario in a file, and the flags that may stand beside it.
class ScenarioFile : public ::testing::Test {
 protected:
  ScenarioFile() {
    std::ofstream{path_} << with_phases("- {name: a, for: 1s, rate: 1}",
                                        "defaults: {timeout: 5s, headers: {X-One: 1}}\n");
  }

  ~ScenarioFile() override { std::filesystem::remove(path_); }

  [[nodiscard]] Result<Options, Refusal> with(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"--file", path_});
    return parse_options(flags);
  }

  std::string path_ = testing::TempDir() + "scenario-test.yaml";
};

TEST_F(ScenarioFile, GivesWayToFlagsBesideIt) {
  const auto options =
      with({"--timeout", "2s", "--seed", "9", "-H", "x-one: 2", "--arrivals", "uniform",
            "--max-connections", "3", "--reuse", "never", "--fail-if", "app.errors@a > 0"});

  ASSERT_TRUE(options) << options.error().text();
  EXPECT_EQ(options->plan.timeout, 2s);
  EXPECT_EQ(options->plan.seed, 9U);
  EXPECT_EQ(options->plan.arrivals, Arrivals::uniform);
  EXPECT_EQ(options->plan.connections, 3U);
  EXPECT_EQ(options->plan.reuse, 1U);
  EXPECT_EQ(options->plan.targets[0].headers[0].second, "2");
  EXPECT_EQ(options->plan.conditions.back().use, Use::fail_if);
  EXPECT_EQ(with({})->plan.timeout, 5s);
}

TEST_F(ScenarioFile, RefusesFlagsThatSetRequestsOrTimes) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"http://a"},
                                             {"--rate", "1"},
                                             {"-c", "1"},
                                             {"-n", "1"},
                                             {"-d", "1s"},
                                             {"--shape", "1:1s"},
                                             {"--replay", "a.csv"},
                                             {"-m", "PUT"},
                                             {"-b", "x"},
                                             {"--warmup", "1s"}}) {
    const auto options = with(flags);
    ASSERT_FALSE(options) << flags.front();
    EXPECT_EQ(options.error().status, 2);
    EXPECT_NE(options.error().what.find("--file cannot be joined"), std::string::npos);
  }
  EXPECT_EQ(parse_options({"http://a", "--check"}).error().status, 2);
}

TEST_F(ScenarioFile, EndsWithTheStatusOfABadFileOrOfAnUnknownFigure) {
  EXPECT_EQ(with({"--fail-if", "app.p99@gone > 1s"}).error().status, 1);
  EXPECT_EQ(parse_options({"--file", "/does/not/exist.yaml"}).error().status, 78);

  std::ofstream{path_} << with_phases("- {name: a, for: 1s, rate: 1}", "assert: ['nosuch > 1']");
  EXPECT_EQ(with({}).error().status, 1);
  std::ofstream{path_} << with_phases("- {name: a, for: 0s, rate: -1}", "seeed: 1");
  EXPECT_EQ(with({}).error().status, 78);
  EXPECT_FALSE(with({}).error().others.empty());
}

TEST(Scenario, ABaselineIsLookedForBesideIt) {
  const std::string phases = "  - {name: one, for: 1s, rate: 5}";
  const auto plan = parse(with_phases(phases, "compare: {baseline: main.json, tolerance: 20%}"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->baseline, "/plans/main.json");
  EXPECT_EQ(plan->tolerance, 0.2);
  EXPECT_NE(plan_text(*plan).find("/plans/main.json, tolerance 20 %"), std::string::npos);

  EXPECT_NE(problems_of(with_phases(phases, "compare: {tolerance: 5%}"))
                .find("`compare` has no `baseline`"),
            std::string::npos);
  EXPECT_NE(problems_of(with_phases(phases, "compare: {baseline: a, tolerance: much}"))
                .find("plan.yaml:4: `tolerance`"),
            std::string::npos);
  EXPECT_NE(problems_of(with_phases(phases, "compare: {base: a}")).find("baseline"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::loadgen
