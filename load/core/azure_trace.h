#pragma once

#include "common/base/result.h"

#include "load/core/service_times.h"
#include "load/core/trace.h"
#include "load/core/trace_lines.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// The traces of Azure Functions of 2019: a file per day.
namespace sluice::loadgen {

/// The durations of functions, `function_durations_percentiles*.csv`: what is kept of it grows with
/// the functions, at most kFunctionsMax.
class AzureDurations {
 public:
  static constexpr std::size_t kFunctionsMax = 250'000;

  /// Takes the next bytes of the file. The problem names the line.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece);
  [[nodiscard]] std::optional<Problem> finish();

  /// Puts the durations of a function into `out`, which is empty when they are not known.
  /// `function`: its first three columns, with their commas between.
  void find(std::string_view function, ServiceTimes& out) const;

  /// Lines that were not used: not as many fields as the header, or a figure that is none.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  static constexpr std::size_t kPoints = 7;
  using Milliseconds = std::array<float, kPoints>;

  std::optional<Problem> read(std::string_view line);
  std::optional<Problem> read_header();

  TraceLines lines_;
  CsvFields fields_;
  std::array<std::size_t, kPoints> columns_{};
  std::size_t width_ = 0;  // fields of a line; 0: the header has not come
  std::unordered_map<std::string, Milliseconds> functions_;
  std::uint64_t skipped_ = 0;
};

/// The format `azure2019`, `invocations_per_function*.csv`: a line per function with its trigger
/// and a count for each minute of the day. A line becomes a cell per minute with requests, so times
/// rise within a function only.
class AzureTrace {
 public:
  [[nodiscard]] static bool is_header(std::string_view line);

  /// Only functions with `trigger` are read, all if it is empty. `durations` outlives this; null:
  /// they are not known.
  [[nodiscard]] static Result<AzureTrace, Problem> open(std::string_view header,
                                                        std::string trigger,
                                                        const AzureDurations* durations);

  [[nodiscard]] std::optional<Skip> read(std::string_view line, const CellSink& sink);

 private:
  CsvFields fields_;
  std::string trigger_;
  const AzureDurations* durations_ = nullptr;
  std::size_t minutes_ = 0;
  std::vector<std::uint64_t> counts_;
  TraceCell cell_;
};

}  // namespace sluice::loadgen
