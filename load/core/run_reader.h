#pragma once

#include "common/base/result.h"

#include "load/core/comparison.h"
#include "load/core/json_stream.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Reads the JSON report of a run (schema 1) in pieces for a comparison. What is kept does not grow
/// with the length of the run.
class RunReader {
 public:
  /// Of the texts of a plan.
  static constexpr std::size_t kPlanBytesMax = 4U << 20U;

  /// After a problem nothing more may be fed.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece);

  /// The report has ended. The problem is that it has not, that it is none, or of which later
  /// schema it is. `file` is of the caller.
  [[nodiscard]] Result<ComparedRun, Problem> finish();

 private:
  // A row of `seconds`.
  struct Row {
    std::optional<Duration> at;
    RunBlock counted = {};
    std::uint64_t not_sent = 0;
    Duration length{0};
  };

  void take(std::string_view place, std::string_view value);
  void take_plan(std::string_view place, std::string_view value);
  void take_figure(std::string_view place, std::string_view value);
  void take_second(std::string_view field, std::string_view value);
  void take_environment(std::string_view field, std::string_view value);
  void add_latencies(const std::string& text);
  void end_row();
  void end_second(Duration until);

  JsonStream json_;
  std::optional<Problem> problem_;
  std::optional<double> schema_;
  bool measured_ = false;  // it has requests
  ComparedRun run_;
  std::size_t plan_bytes_ = 0;

  Row row_;
  std::optional<Duration> begin_;  // of the first second
  Row second_;                     // rows of one time, not in series_ yet
  Duration last_length_ = std::chrono::seconds{1};
  BlockSeries series_;
};

}  // namespace sluice::loadgen
