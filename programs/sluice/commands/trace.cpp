#include "load/core/trace.h"

#include "common/base/exit_status.h"

#include <CLI/CLI.hpp>

#include "load/core/trace_summary.h"
#include "load/io/trace_file.h"
#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_trace(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Prints what is understood of a trace: its format, requests, span, busiest second, how "
      "exact its times are, and the lines that are skipped and why.");
  std::string action;
  std::string file;
  app.add_option("ACTION", action, "info")->required()->check(CLI::IsMember({"info"}));
  app.add_option("FILE", file,
                 "FILE or FILE:FORMAT; without csv, azure2019 or sluice (a recording, unpacked) "
                 "the first line tells the format")
      ->type_name("FILE")
      ->required();
  if (const auto code = ends_early(with, app, "trace", args)) return *code;
  const auto survey = loadgen::survey_trace(loadgen::parse_trace_name(file));
  if (!survey) return report(with, {kExitConfig, survey.error().text()});
  with.out << loadgen::trace_text(survey->facts, survey->summary);
  return kExitOk;
}

}  // namespace sluice::commands
