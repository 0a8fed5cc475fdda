#include "load/core/comparison.h"

#include <algorithm>
#include <cmath>

namespace sluice::loadgen {

namespace {

constexpr std::uint64_t kSeed = 1;
constexpr Duration kMoreMax = std::chrono::hours{24};

constexpr std::array<std::string_view, kFigures> kNames{
    "p50",  "p90",        "p99",          "p99.9",           "max",         "error rate",
    "rate", "cold start", "replicas max", "replica-seconds", "time to zero"};

// Where more of it is better.
bool is_gain(Figure figure) {
  return figure == Figure::rate;
}

// Of the runs that have it; nothing if one has it not.
std::vector<double> values_of(const std::vector<const ComparedRun*>& runs, std::size_t figure) {
  std::vector<double> values;
  for (const ComparedRun* const run : runs) {
    if (run->figures[figure]) values.push_back(*run->figures[figure]);
  }
  if (values.size() < runs.size()) values.clear();
  return values;
}

// Of figures that a run has one value of, so that only repeats show how they differ.
std::optional<Spread> spread_of_repeats(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2 || *std::min_element(values.begin(), values.end()) <= 0) {
    return std::nullopt;
  }
  double mean = 0;
  for (const double value : values) mean += std::log(value) / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(std::log(value) - mean, 2);
  const double variance = squares / (count - 1) * variance_beside_median(values.size());
  return Spread{std::sqrt(variance), count - 1};
}

// A difference, on the scale on which it is judged.
struct Difference {
  double value;
  double half;       // of the interval
  double tolerated;  // either way
};

Judgement judgement_of(const Difference& is, bool gain) {
  const double away = std::abs(is.value);
  if (away + is.half <= is.tolerated) return Judgement::same;
  if (away <= is.tolerated || away <= is.half) return Judgement::unclear;
  return (is.value > 0) == gain ? Judgement::better : Judgement::worse;
}

// A half of an interval becomes narrower with the root of the length.
std::optional<Duration> time_to_tell(const Difference& is, Duration length) {
  const double away = std::abs(is.value);
  const double wanted = away > is.tolerated ? away : is.tolerated - away;
  if (wanted <= 0) return std::nullopt;
  const double times = std::pow(is.half / wanted, 2) - 1;
  const double seconds = to_seconds(length) * times;
  if (!(seconds <= to_seconds(kMoreMax))) return std::nullopt;
  return from_seconds(std::max(seconds, 1.0));
}

Duration length_of(const ComparedRun& run) {
  Duration length{0};
  for (const RunBlock& block : run.blocks) length += block.length;
  return length;
}

// Error rates may be 0, so their difference is looked at, not their ratio.
void compare_rates_of_errors(Compared& row, const std::optional<Spread>& spread, double tolerance,
                             Duration length) {
  row.change = *row.now - *row.before;
  if (!spread) {
    row.judgement = *row.change == 0 ? Judgement::same : Judgement::unclear;
    return;
  }
  const Difference is{*row.change, student_95(spread->freedom) * spread->deviation,
                      tolerance * *row.before};
  row.low = is.value - is.half;
  row.high = is.value + is.half;
  row.judgement = judgement_of(is, false);
  if (row.judgement == Judgement::unclear) row.more = time_to_tell(is, length);
}

void compare_ratios(Compared& row, const std::optional<Spread>& spread, double tolerance,
                    Duration length) {
  const double before = *row.before;
  const double now = *row.now;
  if (before > 0) row.change = now / before - 1;
  if (before <= 0 || now <= 0) {
    row.judgement = before == now ? Judgement::same : Judgement::unclear;
    return;
  }
  Difference is{std::log(now / before), 0, std::log1p(tolerance)};
  if (!spread) {
    row.judgement = std::abs(is.value) <= is.tolerated ? Judgement::same : Judgement::unclear;
    return;
  }
  is.half = student_95(spread->freedom) * spread->deviation;
  row.low = std::expm1(is.value - is.half);
  row.high = std::expm1(is.value + is.half);
  row.judgement = judgement_of(is, is_gain(row.figure));
  const bool grows =
      row.figure != Figure::max && static_cast<std::size_t>(row.figure) < kResampledFigures;
  if (row.judgement == Judgement::unclear && grows) row.more = time_to_tell(is, length);
}

Judgement overall(const std::vector<Compared>& figures) {
  bool better = false;
  bool unclear = false;
  for (const Compared& row : figures) {
    if (row.judgement == Judgement::worse) return Judgement::worse;
    better = better || row.judgement == Judgement::better;
    unclear = unclear || (row.judgement == Judgement::unclear && row.figure != Figure::max);
  }
  if (better) return Judgement::better;
  return unclear ? Judgement::unclear : Judgement::same;
}

void warn_of(const ComparedRun& run, std::vector<std::string>& warnings) {
  if (run.late) {
    warnings.push_back(
        run.file + ": its generator was late, so its latencies have the generator's own in them");
  }
  if (run.interrupted) warnings.push_back(run.file + ": it was interrupted");
  if (!run.histograms) {
    warnings.push_back(run.file +
                       ": it has no histograms by second, so its percentiles have no interval");
  }
}

}  // namespace

std::string_view name_of(Figure figure) {
  return kNames[static_cast<std::size_t>(figure)];
}

std::string_view name_of(Judgement judgement) {
  switch (judgement) {
    case Judgement::same:
      return "same";
    case Judgement::better:
      return "better";
    case Judgement::worse:
      return "worse";
    case Judgement::unclear:
      return "unclear";
  }
  return "";
}

std::optional<Problem> other_plan(const ComparedRun& baseline, const ComparedRun& run) {
  const auto difference = [&](const std::string& place, const std::string& before,
                              const std::string& now) {
    return Problem{run.file + " was planned otherwise than " + baseline.file + ": " + place +
                       " is " + now + ", it was " + before,
                   "compare runs of one plan, or give --anyway"};
  };
  const auto first_of = [](const std::vector<std::string>& texts, std::size_t at) {
    return at < texts.size() ? texts[at] : std::string{"absent"};
  };
  for (const auto& [place, before] : baseline.plan) {
    const auto found = run.plan.find(place);
    const std::vector<std::string> now =
        found == run.plan.end() ? std::vector<std::string>{} : found->second;
    for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
      if (first_of(before, i) != first_of(now, i)) {
        return difference(place, first_of(before, i), first_of(now, i));
      }
    }
  }
  for (const auto& [place, now] : run.plan) {
    if (!baseline.plan.contains(place)) return difference(place, "absent", now.front());
  }
  return std::nullopt;
}

RunComparison compare(const ComparedRun& baseline, const std::vector<const ComparedRun*>& runs,
                      double tolerance) {
  RunComparison out;
  out.name = runs.front()->name;
  out.runs = runs;
  warn_of(baseline, out.warnings);
  std::vector<std::vector<RunBlock>> blocks;
  Duration length = length_of(baseline);
  bool histograms = baseline.histograms;
  for (const ComparedRun* const run : runs) {
    warn_of(*run, out.warnings);
    if (run->machine != baseline.machine) {
      out.warnings.push_back(run->file + ": made on another machine, " + run->machine + ", than " +
                             baseline.file + ", " + baseline.machine);
    }
    blocks.push_back(run->blocks);
    length = std::min(length, length_of(*run));
    histograms = histograms && run->histograms;
  }
  const auto spreads = spread_of(baseline.blocks, blocks, kSeed);
  for (std::size_t f = 0; f < kFigures; ++f) {
    Compared row;
    row.figure = static_cast<Figure>(f);
    row.before = baseline.figures[f];
    const std::vector<double> values = values_of(runs, f);
    if (!values.empty()) row.now = median(values);
    if (!row.before && !row.now) continue;
    if (row.before && row.now) {
      const auto spread = f < kResampledFigures ? spreads[f] : spread_of_repeats(values);
      if (row.figure == Figure::error_rate) {
        compare_rates_of_errors(row, spread, tolerance, length);
      } else {
        compare_ratios(row, spread, tolerance, length);
      }
    }
    out.figures.push_back(row);
  }
  out.judgement = overall(out.figures);
  return out;
}

Judgement Comparisons::judgement() const {
  Judgement out = Judgement::same;
  for (const RunComparison& comparison : all) {
    if (comparison.judgement == Judgement::worse) return Judgement::worse;
    if (out == Judgement::same) out = comparison.judgement;
  }
  return out;
}

Comparisons compare_all(const ComparedRun& baseline, const std::vector<ComparedRun>& runs,
                        double tolerance) {
  std::vector<std::vector<const ComparedRun*>> groups;
  for (const ComparedRun& run : runs) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group.front()->name == run.name;
    });
    if (same == groups.end()) {
      groups.push_back({&run});
    } else {
      same->push_back(&run);
    }
  }
  Comparisons out{&baseline, tolerance, {}};
  for (const auto& group : groups) out.all.push_back(compare(baseline, group, tolerance));
  return out;
}

}  // namespace sluice::loadgen
