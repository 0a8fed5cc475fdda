#include <nlohmann/json.hpp>

#include "load/io/comparison_text.h"
#include <cmath>

namespace sluice::loadgen {

using Ordered = nlohmann::ordered_json;

namespace {

Ordered number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Ordered(*value) : Ordered(nullptr);
}

Ordered figure_of(const Compared& row) {
  Ordered out{{"figure", name_of(row.figure)},
              {"before", number(row.before)},
              {"now", number(row.now)},
              {"change", number(row.change)},
              {"interval", nullptr},
              {"verdict", name_of(row.judgement)},
              {"more_s", nullptr}};
  if (row.low) out["interval"] = {number(row.low), number(row.high)};
  if (row.more) out["more_s"] = to_seconds(*row.more);
  return out;
}

Ordered run_of(const ComparedRun& run) {
  return {{"file", run.file}, {"name", run.name}, {"started_at", run.started_at}};
}

Ordered comparison_of(const RunComparison& comparison, const ComparedRun& baseline) {
  Ordered runs = Ordered::array();
  for (const ComparedRun* const run : comparison.runs) runs.push_back(run_of(*run));
  Ordered figures = Ordered::array();
  for (const Compared& row : comparison.figures) figures.push_back(figure_of(row));
  return {{"name", comparison.name},
          {"verdict", name_of(comparison.judgement)},
          {"sentence", sentence(comparison, baseline)},
          {"runs", std::move(runs)},
          {"figures", std::move(figures)},
          {"warnings", comparison.warnings}};
}

}  // namespace

std::string comparison_json(const Comparisons& comparisons) {
  Ordered out{{"schema", 1},
              {"verdict", name_of(comparisons.judgement())},
              {"tolerance", comparisons.tolerance},
              {"baseline", run_of(*comparisons.baseline)}};
  Ordered all = Ordered::array();
  for (const RunComparison& comparison : comparisons.all) {
    all.push_back(comparison_of(comparison, *comparisons.baseline));
  }
  out["comparisons"] = std::move(all);
  return out.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace sluice::loadgen
