#pragma once

#include "load/core/service_times.h"
#include "load/core/trace.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// Puts the counts of azure2019 in the order of time, whose cells come function by function: those
/// of one window, as long as there is room for. A trace is read once for each window.
class CountWindow {
 public:
  /// Room for the counts of a day of 50,000 functions with requests in every tenth minute, 120 MiB.
  static constexpr std::size_t kCountsMax = 10'000'000;

  /// The window begins at `from`, a minute of a day, and ends with the day at the latest.
  explicit CountWindow(Duration from, std::size_t counts_max = kCountsMax);

  /// Takes a cell of a minute, of a function that follows in the order of the file. One that is not
  /// in the window is passed over. Where there is no room the window becomes shorter, at least a
  /// minute.
  void add(const TraceCell& cell);

  /// Passes on the cells of the window in the order of time.
  void pass_on(const CellSink& sink);

  /// Where the window ends: the next one begins there, or the day is over at kDay.
  [[nodiscard]] Duration end() const;

  static constexpr Duration kDay = std::chrono::hours{24};

 private:
  struct Function {
    std::string name;
    ServiceTimes times;
  };

  struct Count {
    std::uint32_t function;  // in functions_
    std::uint32_t requests;
    std::uint32_t minute;
  };

  void shorten();

  std::uint32_t from_;
  std::uint32_t end_;
  std::size_t counts_max_;
  std::vector<Function> functions_;  // with requests in the window
  std::vector<Count> counts_;
};

}  // namespace sluice::loadgen
