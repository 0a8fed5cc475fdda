#include <gtest/gtest.h>

#include "platform/process/engine_settings.h"
#include <string>
#include <vector>

namespace sluice::local {
namespace {

using placement::MigrationPolicy;
using placement::MoveCause;

const std::vector<int> kCores{0, 1};

Result<EngineSettings, std::vector<Problem>> read(const std::string& text) {
  return parse_engine_settings(text, "c.yaml", kCores);
}

/// All problems, one a line.
std::string problems(const std::string& text) {
  const auto settings = read(text);
  if (settings) return "accepted";
  std::string all;
  for (const Problem& problem : settings.error()) all += problem.text() + "\n";
  return all;
}

/// The same of one policy, in its list.
std::string problem_of(const std::string& policy) {
  return problems("placement:\n  policies:\n  - " + policy + "\n");
}

constexpr const char* kAll = R"(
placement:
  max-moves-per-demand: 2
  worth-k: 5
  cool-down: 1m
  minimum-age: 10s
  home-hold: 20s
  shift-hold: 500ms
  policies:
  - name: quiet
    mode: scoring
    select: policy-first
    triggers: [full, drain]
    algorithms:
    - {name: in-flight, weight: 3, direction: high-first}
    - {name: restart-cost, quantum: 7}
  - name: rest
)";

TEST(PlacementSettings, EveryKeyIsRead) {
  const auto settings = read(kAll);

  ASSERT_TRUE(settings.has_value()) << settings.error().front().text();
  const placement::Rules& rules = settings->placement;
  EXPECT_EQ(rules.plan.moves_max, 2);
  EXPECT_EQ(rules.plan.worth_divisor, 5);
  EXPECT_EQ(rules.plan.minimum_age, Duration{std::chrono::seconds{10}});
  EXPECT_EQ(rules.moves.service_pause, Duration{std::chrono::minutes{1}});
  EXPECT_EQ(rules.moves.shift_hold, Duration{std::chrono::milliseconds{500}});
  EXPECT_EQ(rules.home.hold, Duration{std::chrono::seconds{20}});
  ASSERT_EQ(rules.policies.size(), 2U);
  EXPECT_EQ(rules.policies[0],
            (MigrationPolicy{.name = "quiet",
                             .mode = MigrationPolicy::Mode::scoring,
                             .algorithms = {{.name = "in-flight",
                                             .weight = 3,
                                             .direction = placement::Direction::high_first},
                                            {.name = "restart-cost", .quantum = 7}},
                             .select = MigrationPolicy::Select::policy_first,
                             .triggers = {MoveCause::full, MoveCause::drain}}));
  EXPECT_EQ(rules.policies[1], (MigrationPolicy{.name = "rest"}));
}

TEST(PlacementSettings, PoliciesAreShownAsTheyCanBeWritten) {
  const auto settings = read(kAll);
  std::string shown;
  for (const SettingLine& line : setting_lines(*settings)) {
    if (line.key == "placement.policies") shown = line.value;
  }

  EXPECT_EQ(shown,
            "[{name: quiet, mode: scoring, select: policy-first, triggers: [full, drain], "
            "algorithms: [{name: in-flight, weight: 3, direction: high-first}, {name: "
            "restart-cost, quantum: 7}]}, {name: rest, mode: order, select: fewest, triggers: "
            "[full, drain, home], algorithms: []}]");
  EXPECT_EQ(read("placement: {policies: " + shown + "}")->placement.policies,
            settings->placement.policies);
}

TEST(PlacementSettings, WrongPoliciesAreNamedWithTheirLine) {
  EXPECT_EQ(problem_of("{name: a, algorithm: [{name: in-flight}]}"),
            "c.yaml:3: unknown key `algorithm` in `policies`; did you mean `algorithms`?\n");
  EXPECT_EQ(problem_of("name: a\n    algorithms:\n    - name: in-flight\n    - name: in-fligt"),
            "c.yaml:6: policy `a`: unknown algorithm `in-fligt`; did you mean `in-flight`? there "
            "are cpu-utilization, dispersion, in-flight, request-rate, restart-cost, "
            "home-distance\n");
  EXPECT_EQ(problem_of("{name: a, algorithms: [in-flight]}"),
            "c.yaml:3: an item of `algorithms` must be a mapping; write it like "
            "{name: in-flight}\n");
  EXPECT_EQ(problem_of("{name: a, mode: scoring, algorithms: [{name: in-flight, weight: 0}]}"),
            "c.yaml:3: policy `a` scores, and no algorithm has a weight above 0; give one a "
            "weight, or write `mode: order`\n");
  EXPECT_EQ(problem_of("{name: a, mode: ORDER}"),
            "c.yaml:3: `mode` is `ORDER`; use one of order, scoring\n");
  EXPECT_EQ(problem_of("{name: a, triggers: [ful]}"),
            "c.yaml:3: `triggers` is `ful`; use one of full, drain, home\n");
  EXPECT_EQ(problem_of("{name: a, triggers: []}"),
            "c.yaml:3: `triggers` is empty, so the policy is never used; leave it out for all of "
            "full, drain, home\n");
  EXPECT_EQ(problem_of("{mode: order}"), "c.yaml:3: a policy has no `name`; give it one\n");
  EXPECT_EQ(problem_of("{name: default}"),
            "c.yaml:3: `default` is the policy that is built in; give yours another name\n");
  EXPECT_EQ(problem_of("{name: a}\n  - {name: a}"),
            "c.yaml:4: two policies are named `a`; rename one\n");
}

TEST(PlacementSettings, WrongLimitsAreNamedWithTheirLine) {
  EXPECT_EQ(problems("placement: {cooldown: 1s}\n"),
            "c.yaml:1: unknown key `cooldown` in `placement`; did you mean `cool-down`?\n");
  EXPECT_TRUE(problems("placement:\n  worth-k: 0\n").starts_with("c.yaml:2: `worth-k`"));
  EXPECT_TRUE(problems("placement:\n  home-hold: soon\n").starts_with("c.yaml:2: `home-hold`"));
}

TEST(PlacementSettings, FileOfPoliciesAloneIsReadLikeTheSectionOfAConfig) {
  const auto alone = parse_placement("policies: [{name: a}]\ncool-down: 3s\n", "p.yaml", kCores);
  const auto whole =
      parse_placement("http: 127.0.0.1:1\nplacement: {policies: [{name: a}]}\n", "c.yaml", kCores);

  ASSERT_TRUE(alone.has_value()) << alone.error().front().text();
  ASSERT_TRUE(whole.has_value()) << whole.error().front().text();
  EXPECT_EQ(alone->policies, whole->policies);
  EXPECT_EQ(alone->moves.service_pause, Duration{std::chrono::seconds{3}});
  EXPECT_EQ(parse_placement("policies: [{nam: a}]\n", "p.yaml", kCores).error().front().text(),
            "p.yaml:1: unknown key `nam` in `policies`; did you mean `name`?");
}

TEST(PlacementSettings, ChangesAreNamedByTheirKeys) {
  const auto before = read("max-replicas: 3\n");
  const auto now = read(
      "autoscaler: {stable-window: 30s}\ngroups: [{name: a}]\n"
      "placement: {worth-k: 2, cool-down: 1s}\n");

  EXPECT_EQ(changed_settings(*before, *now),
            (std::vector<std::string>{"max-replicas", "groups", "placement.cool-down",
                                      "autoscaler.stable-window"}));
}

}  // namespace
}  // namespace sluice::local
