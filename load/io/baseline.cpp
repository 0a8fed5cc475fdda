#include "load/io/baseline.h"

#include "load/core/report.h"
#include "load/core/run_reader.h"
#include "load/io/comparison_text.h"
#include "load/io/report_json.h"
#include "load/io/run_file.h"
#include <utility>
#include <vector>

namespace sluice::loadgen {

namespace {

Result<ComparedRun, Problem> read_report(const std::string& json) {
  RunReader reader;
  if (auto problem = reader.feed(json)) return *std::move(problem);
  auto run = reader.finish();
  if (run) run->file = "this run";
  return run;
}

// What the report of a run of this plan will say of the plan.
Result<ComparedRun, Problem> planned(const LoadPlan& plan) {
  Report report;
  report.plan = plan;
  report.results = Results{plan};
  return read_report(report_json(report, {}, {}));
}

}  // namespace

Result<Baseline, Problem> Baseline::open(const LoadPlan& plan) {
  auto run = read_run_file(plan.baseline);
  if (!run) return run.error();
  const auto ours = planned(plan);
  if (!ours) return ours.error();
  if (const auto other = other_plan(*run, *ours)) {
    return Problem{other->what, "compare with a run of the same plan, or leave out the baseline"};
  }
  return Baseline{*std::move(run), plan.tolerance};
}

Result<BesideBaseline, Problem> Baseline::compare(const std::string& report) const {
  std::vector<ComparedRun> runs;
  auto run = read_report(report);
  if (!run) return run.error();
  runs.push_back(*std::move(run));
  const Comparisons comparisons = compare_all(run_, runs, tolerance_);
  return BesideBaseline{comparison_text(comparisons), comparison_json(comparisons),
                        comparisons.judgement() == Judgement::worse};
}

}  // namespace sluice::loadgen
