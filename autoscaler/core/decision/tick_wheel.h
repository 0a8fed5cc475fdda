#pragma once

#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// The rhythm of many items on one timer: each is visited every second, and every other visit is
/// its tick. Hashes spread the visits over the second and the ticks over two, so that 10,000 items
/// are a hundred at a time and never all at once. Adding and removing touches one item.
class TickWheel {
 public:
  /// Slots of a second.
  static constexpr std::int64_t kSlots = 100;
  static constexpr Duration kSlot = Duration{std::chrono::seconds{1}} / kSlots;

  /// `item` is the caller's number for it, small and not in the wheel; equal hashes are visited
  /// together.
  void add(std::uint32_t item, std::uint64_t hash);

  /// Removes an item that is in the wheel.
  void remove(std::uint32_t item);

  struct Visit {
    std::uint32_t item = 0;
    bool tick = false;
  };

  /// Appends what came due since the last call, each item once however long ago that was. A clock
  /// that stepped back continues from there.
  void take_due(TimePoint now, std::vector<Visit>& visits);

  /// When take_due() will have something to give; absent while the wheel is empty.
  [[nodiscard]] std::optional<TimePoint> next_due() const;

 private:
  struct Place {
    std::size_t slot = 0;
    std::size_t index = 0;  // within the slot
    std::int64_t odd = 0;   // 1: its tick falls into odd seconds
  };

  void visit(std::int64_t at, bool twice, std::vector<Visit>& visits) const;

  std::array<std::vector<std::uint32_t>, kSlots> slots_;
  std::vector<Place> places_;            // by item
  std::optional<std::int64_t> visited_;  // the last slot taken, counted since the epoch
};

}  // namespace sluice::autoscaler
