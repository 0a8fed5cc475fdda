// Goal: no text of a scenario breaks what reads it, and what it makes keeps the limits of a plan.
// Method: the input is a whole file; bodies that it names are there, but for those called `no`.
#include "common/base/check.h"
#include "tests/fuzz/h1_message.h"

#include "load/core/load_plan.h"
#include "load/io/scenario.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using sluice::Duration;
using sluice::Problem;
using sluice::Result;
using sluice::loadgen::LoadPlan;
using sluice::loadgen::Phase;
using sluice::loadgen::ScenarioProblems;
using sluice::loadgen::TargetPlan;

constexpr std::size_t kProblemsMax = 20;

Result<std::string, Problem> body_of(const std::string& path) {
  if (path.ends_with("no")) return Problem{"there is no '" + path + "'", "check the path"};
  return Result<std::string, Problem>{boost::system::in_place_value, "a body"};
}

void check_plan(const LoadPlan& plan) {
  CHECK(!plan.name.empty());
  CHECK(!plan.targets.empty() && plan.targets.size() <= sluice::loadgen::kTargetsMax);
  CHECK(!plan.phases.empty() && plan.phases.size() <= sluice::loadgen::kPhasesMax);
  CHECK(plan.conditions.size() <= sluice::loadgen::kConditionsMax);
  CHECK(plan.connections >= 1 && plan.connections <= sluice::loadgen::kConnectionsMax);
  CHECK(plan.timeout > Duration::zero());
  CHECK(plan.duration && *plan.duration <= sluice::loadgen::kRunMax);
  for (const TargetPlan& target : plan.targets) {
    CHECK(!target.name.empty() && !target.target.host.empty() && !target.method.empty());
    CHECK(target.headers.size() <= sluice::loadgen::kHeadersMax);
  }
  for (const Phase& phase : plan.phases) {
    CHECK(!phase.name.empty());
    CHECK(phase.replay.has_value() == phase.segments.empty());
    CHECK(phase.mix.empty() || phase.mix.size() == plan.targets.size());
    CHECK(expected_requests(phase) >= 0);
  }
  CHECK(plan_text(plan).find('\0') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = sluice::loadgen::parse_scenario(sluice::fuzz::text_of(data, size), "plan.yaml",
                                                    "plans", body_of);
  if (read) {
    check_plan(*read);
    return 0;
  }
  const ScenarioProblems& wrong = read.error();
  CHECK(!wrong.problems.empty() && wrong.problems.size() <= kProblemsMax);
  for (const Problem& problem : wrong.problems) {
    CHECK(problem.what.starts_with("plan.yaml:"));
    CHECK(!problem.fix.empty());
  }
  return 0;
}
