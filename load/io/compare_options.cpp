#include "load/io/compare_options.h"

#include "common/http/text.h"
#include "common/values/flag_checks.h"

#include <CLI/CLI.hpp>

#include "load/core/quantity.h"
#include <algorithm>
#include <utility>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kFilesMax = 100;
constexpr double kToleranceMax = 10;

constexpr const char* kAbout =
    "Compares reports of runs with the first of them, and says what is better or worse beyond "
    "chance.";

struct Raw {
  std::vector<std::string> files;
  std::string tolerance = "10%";
  bool anyway = false;
  std::string output = "text";
};

void declare(CLI::App& app, Raw& raw) {
  app.add_option("REPORT", raw.files,
                 "what --json wrote, packed by gzip or not: first the baseline, then the runs to\n"
                 "compare with it; of these, runs of one name are repeats of each other")
      ->type_name("FILE");
  app.add_option("--tolerance", raw.tolerance,
                 "a change up to this is the same, as a share or in percent (10%)")
      ->type_name("PERCENT")
      ->check(check_not_empty);
  app.add_flag("--anyway", raw.anyway, "also runs of other plans, seeds or protocols");
  app.add_option("-o,--output", raw.output, "text, json or markdown (text)")
      ->type_name("text|json|markdown");
}

}  // namespace

Result<double, Problem> parse_tolerance(std::string_view text, const std::string& name) {
  const bool percent = text.ends_with('%');
  const auto number =
      parse_number(sluice::http::trimmed(percent ? text.substr(0, text.size() - 1) : text));
  const double share = number.value_or(-1) / (percent ? 100 : 1);
  if (share < 0 || share > kToleranceMax) {
    return Problem{name + " is not 0 to 1000%: '" + std::string{text.substr(0, 60)} + "'",
                   "give for example 10%"};
  }
  return share;
}

void declare(CLI::App& app, BaselineFlags& flags) {
  app.add_option("--baseline", flags.file,
                 "compare with this report of --json; exit 4 if the run is worse")
      ->type_name("FILE")
      ->check(check_not_empty);
  app.add_option("--tolerance", flags.tolerance,
                 "with --baseline: a change up to this is the same (10%)")
      ->type_name("PERCENT")
      ->check(check_not_empty);
}

std::optional<Problem> read_baseline(const BaselineFlags& flags, LoadPlan& plan) {
  if (!flags.file.empty()) plan.baseline = flags.file;
  if (flags.tolerance.empty()) return std::nullopt;
  if (plan.baseline.empty()) {
    return Problem{"--tolerance is for --baseline", "give --baseline FILE with it"};
  }
  const auto tolerance = parse_tolerance(flags.tolerance, "--tolerance");
  if (!tolerance) return tolerance.error();
  plan.tolerance = *tolerance;
  return std::nullopt;
}

void show_compare_flags(const std::function<void(CLI::App&)>& see) {
  CLI::App app{kAbout};
  Raw raw;
  declare(app, raw);
  see(app);
}

Result<CompareOptions, Problem> parse_compare_options(std::vector<std::string> arguments) {
  CLI::App app{kAbout, "sluice load compare"};
  Raw raw;
  declare(app, raw);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    return Problem{error.what(), "see sluice load compare --help"};
  }
  const auto tolerance = parse_tolerance(raw.tolerance, "--tolerance");
  if (!tolerance) return tolerance.error();
  if (raw.output != "text" && raw.output != "json" && raw.output != "markdown") {
    return Problem{"--output is unknown: '" + raw.output + "'", "use text, json or markdown"};
  }
  if (raw.files.size() < 2) {
    return Problem{"two reports or more are compared",
                   "give the baseline first: sluice load compare main.json new.json"};
  }
  if (raw.files.size() > kFilesMax) return Problem{"more than 100 reports", "give fewer"};
  return CompareOptions{std::move(raw.files), *tolerance, raw.anyway, std::move(raw.output)};
}

}  // namespace sluice::loadgen
