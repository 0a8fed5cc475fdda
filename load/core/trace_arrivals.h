#pragma once

#include "load/core/trace.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::loadgen {

/// Deals the requests of one cell out over its time, as independent requests fall: the times of n
/// arrivals, given that there are n. One seed gives the same times on every machine.
class CellTimes {
 public:
  CellTimes() = default;
  explicit CellTimes(const TraceCell& cell, std::uint64_t seed);

  /// How many are left.
  [[nodiscard]] std::uint64_t left() const { return left_; }

  /// The next time, never before the one taken last. There has to be one left.
  Duration take();

  /// A number from 0 to below 1 for the request that was taken last.
  double draw();

 private:
  Duration at_{0};
  Duration length_{0};
  std::uint64_t left_ = 0;
  std::uint64_t state_ = 0;
  double gaps_ = 0;    // of all arrivals and of what follows the last, at rate 1
  double passed_ = 0;  // of these
};

/// A request that a trace tells of.
struct TraceArrival {
  Duration at{0};  ///< since the start of the trace
  /// As recorded, or drawn where the trace has only shares; absent: it has neither.
  std::optional<Duration> duration;
  const TraceCell* cell = nullptr;  ///< what it was; valid until the next call of anything
};

/// Makes of cells the arrivals in the order of their times: what a load sends and a simulation
/// gets. Cells may overlap and go back in time by `order_kept`; of azure2019 those of one function
/// are given. At most kCellsMax cells are kept: where more lie within that time, one that comes
/// late is moved to the time of the arrival before it.
class TraceArrivals {
 public:
  static constexpr std::size_t kCellsMax = 65'536;

  explicit TraceArrivals(std::uint64_t seed);

  /// Before the first cell; kOrderKept without.
  void keep_order(Duration order_kept) { order_kept_ = order_kept; }

  void add(const TraceCell& cell);

  /// No cell follows.
  void end() { ended_ = true; }

  /// The next arrival; nothing: add cells first, or after end() there is none.
  [[nodiscard]] std::optional<TraceArrival> next();

 private:
  struct Slot {
    TraceCell cell;
    CellTimes times;
  };

  struct Due {
    Duration at;
    std::uint64_t order;  // of equal times the cell that came first is first
    std::size_t slot;
  };

  static bool later(const Due& a, const Due& b);
  void push(Due due);

  std::uint64_t cell_seeds_;  // with the number of a cell, its seed
  std::uint64_t cells_ = 0;
  bool ended_ = false;
  Duration order_kept_ = kOrderKept;
  Duration newest_{0};
  Duration last_{0};
  std::deque<Slot> slots_;
  std::vector<std::size_t> free_;
  std::vector<Due> due_;              // a heap
  std::optional<std::size_t> spent_;  // its cell may still be in use outside
};

}  // namespace sluice::loadgen
