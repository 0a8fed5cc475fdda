#pragma once

#include "common/base/result.h"

#include "load/core/resampling.h"
#include "load/core/run_blocks.h"
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

[[nodiscard]] std::string_view name_of(Figure figure);

/// What a report tells a comparison.
struct ComparedRun {
  std::string file;  ///< as it was named
  std::string name;  ///< of the scenario or of --name
  std::string started_at;
  std::string machine;  ///< host, processor and kernel
  bool late = false;    ///< the generator was
  bool interrupted = false;
  /// What was planned, as texts by their places in the report, in the order there.
  std::map<std::string, std::vector<std::string>, std::less<>> plan;
  std::array<std::optional<double>, kFigures> figures;
  bool histograms = false;  ///< the blocks have latencies
  std::vector<RunBlock> blocks;
};

enum class Judgement {
  same,     ///< the whole interval is within the tolerance
  better,   ///< beyond the tolerance, and the interval has no change in it no more
  worse,    ///< likewise
  unclear,  ///< none of these
};

[[nodiscard]] std::string_view name_of(Judgement judgement);

/// One figure of the baseline and of what is compared with it.
struct Compared {
  Figure figure = Figure::p50;
  std::optional<double> before;  ///< nothing: the run has no such figure
  std::optional<double> now;     ///< of several runs the median
  /// By how much it changed: of an error rate now - before, of all others now / before - 1.
  std::optional<double> change;
  std::optional<double> low;  ///< of the 95 % interval of `change`, which both have or none
  std::optional<double> high;
  Judgement judgement = Judgement::unclear;
  /// Of `unclear`: how much longer each run had to be to tell; nothing where no length would.
  std::optional<Duration> more;
};

/// One or more runs with one name beside the baseline.
struct RunComparison {
  std::string name;
  std::vector<const ComparedRun*> runs;
  std::vector<Compared> figures;  ///< that one of both has
  Judgement judgement = Judgement::same;
  std::vector<std::string> warnings;
};

/// Why runs cannot be compared: they were planned otherwise. Nothing if they can.
[[nodiscard]] std::optional<Problem> other_plan(const ComparedRun& baseline,
                                                const ComparedRun& run);

/// `worse` is what no chance explains and what is more than `tolerance` (0.1 is 10 %) away.
/// `worse` if one figure is, else `better` likewise; `unclear` if one is but the maximum, which is
/// one request; else `same`. Runs are borrowed from the caller, and there is at least one.
[[nodiscard]] RunComparison compare(const ComparedRun& baseline,
                                    const std::vector<const ComparedRun*>& runs, double tolerance);

/// Every comparison with one baseline.
struct Comparisons {
  const ComparedRun* baseline = nullptr;
  double tolerance = 0;
  std::vector<RunComparison> all;  ///< by name, in the order of the first of each

  /// `worse` if one is, else that of the first that is not `same`.
  [[nodiscard]] Judgement judgement() const;
};

/// Compares `runs`, at least one, with `baseline`: those of one name are repeats of each other.
/// Both are borrowed from the caller.
[[nodiscard]] Comparisons compare_all(const ComparedRun& baseline,
                                      const std::vector<ComparedRun>& runs, double tolerance);

}  // namespace sluice::loadgen
