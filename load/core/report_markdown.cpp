#include "common/base/clean_text.h"

#include "load/core/quantity.h"
#include "load/core/report_forms.h"
#include <algorithm>
#include <cmath>
#include <string_view>

namespace sluice::loadgen {

namespace {

constexpr std::size_t kBytesMax = 4096;
constexpr std::size_t kLastLines = 200;  // room for what was left out

// What is before the figures leaves room for them: names and plans are short, tables are cut.

// Text of others makes no markup and ends no cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : clean_text(text)) {
    if (std::string_view{"|\\`*_<>[]#&"}.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string rounded(double value) {
  return plain(std::round(value * 100) / 100);
}

// Failed ones first, since the end may be left out.
std::string verdict_table(const std::vector<Verdict>& verdicts) {
  std::vector<const Verdict*> sorted;
  sorted.reserve(verdicts.size());
  for (const Verdict& verdict : verdicts) sorted.push_back(&verdict);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Verdict* a, const Verdict* b) {
    const auto rank = [](const Verdict* verdict) {
      return verdict->failed ? 0 : verdict->actual ? 2 : 1;
    };
    return rank(a) < rank(b);
  });
  if (sorted.empty()) return {};
  std::string out = "\n| verdict | condition | actual |\n|---|---|---|\n";
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Verdict& verdict = *sorted[i];
    const char* const word = verdict.failed ? "**failed**" : verdict.actual ? "passed" : "unknown";
    const char* const use = verdict.use == Use::fail_if ? "fail if " : "";
    const std::string row = std::string{"| "} + word + " | " + use + cell(verdict.expression) +
                            " | " + cell(verdict.shown) + " |\n";
    if (out.size() + row.size() > kBytesMax / 2) {
      return out + "\nand " + grouped(sorted.size() - i) + " more\n";
    }
    out += row;
  }
  return out;
}

std::string figure_row(const std::string& name, const Tally& tally, double rate) {
  const Histogram& latency = tally.latency();
  const auto time = [&latency](double percent) {
    return latency.count() == 0 ? std::string{} : milliseconds(latency.percentile(percent)) + " ms";
  };
  return "| " + cell(name) + " | " + rounded(rate) + "/s | " + time(50) + " | " + time(99) + " | " +
         time(100) + " | " + rounded(tally.error_rate() * 100) + " % |\n";
}

std::string figure_table(const Report& report, std::size_t room) {
  const Results& results = report.results;
  std::string out = "\n| | sent | p50 | p99 | max | errors |\n|---|---|---|---|---|---|\n";
  out += figure_row("all", results.whole, achieved_rate(report));
  std::size_t left_out = 0;
  const auto add = [&out, &left_out, room](const std::string& row) {
    if (left_out > 0 || out.size() + row.size() > room) {
      ++left_out;
    } else {
      out += row;
    }
  };
  for (std::size_t i = 0; i < results.phases.size(); ++i) {
    add(figure_row(report.plan.phases[i].name, results.phases[i],
                   achieved_rate(report, {.phase = i})));
  }
  for (std::size_t i = 0; i < results.targets.size(); ++i) {
    add(figure_row(report.plan.targets[i].name, results.targets[i],
                   achieved_rate(report, {.target = i})));
  }
  return left_out == 0 ? out : out + "\nand " + grouped(left_out) + " more rows\n";
}

}  // namespace

std::string report_markdown(const Report& report, const std::vector<Verdict>& verdicts) {
  const bool failed = std::any_of(verdicts.begin(), verdicts.end(),
                                  [](const Verdict& verdict) { return verdict.failed; });
  std::string out = "### " + cell(run_name(report.plan)) + ": " +
                    (failed             ? "failed"
                     : verdicts.empty() ? "measured"
                                        : "passed") +
                    "\n\n" + cell(describe(report.plan)) + "\n";
  const auto cause = late_cause(report);
  if (cause) out += "\n**The generator was late** (" + cell(std::string{name_of(*cause)}) + ").\n";
  out += verdict_table(verdicts);
  return out + figure_table(report, kBytesMax - kLastLines - out.size());
}

}  // namespace sluice::loadgen
