#include "load/run_compare.h"

#include "common/base/exit_status.h"

#include "load/io/compare_options.h"
#include "load/io/comparison_text.h"
#include "load/io/run_file.h"
#include <cstdio>
#include <utility>

namespace sluice::loadgen {

namespace {

int refuse(const Problem& problem, int status) {
  std::fprintf(stderr, "sluice load compare: %s\n", problem.text().c_str());
  return status;
}

int show(const Comparisons& comparisons, const std::string& output) {
  std::string text;
  if (output == "json") {
    text = comparison_json(comparisons);
  } else if (output == "markdown") {
    text = comparison_markdown(comparisons);
  } else {
    text = comparison_text(comparisons);
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return refuse({"cannot write the comparison", "check what reads it"}, kExitFailure);
  }
  return comparisons.judgement() == Judgement::worse ? kExitGateFailed : kExitOk;
}

}  // namespace

int run_compare(std::vector<std::string> args) {
  const auto options = parse_compare_options(std::move(args));
  if (!options) return refuse(options.error(), kExitUsage);
  std::vector<ComparedRun> runs;
  for (const std::string& file : options->files) {
    auto run = read_run_file(file);
    if (!run) return refuse(run.error(), kExitConfig);
    runs.push_back(*std::move(run));
  }
  const ComparedRun baseline = std::move(runs.front());
  runs.erase(runs.begin());
  for (const ComparedRun& run : runs) {
    const auto other = other_plan(baseline, run);
    if (other && !options->anyway) return refuse(*other, kExitConfig);
  }
  return show(compare_all(baseline, runs, options->tolerance), options->output);
}

}  // namespace sluice::loadgen
