#pragma once

#include "autoscaler/placement/core/elapsed.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

namespace sluice::placement {

/// How much may be removed by choice: of the nodes of a place, or of whatever else is counted.
struct GuardLimits {
  std::int32_t percent = 25;      ///< of what there was when the window began
  std::int32_t percent_top = 50;  ///< the same, whatever a command allows
  Duration window = std::chrono::minutes{10};
  std::int32_t bad_percent = 45;  ///< nodes not seen or gone, above which nothing is removed
  std::int32_t bad_least = 3;     ///< as many may be bad in any case
};

/// Nodes as they are seen now.
struct Health {
  std::int32_t nodes = 0;      ///< in all
  std::int32_t bad = 0;        ///< of them, not seen in time, or gone
  std::int32_t silent = 0;     ///< of them, whose agents send nothing
  bool watch_lost = false;     ///< on the platform
  bool writes_fail = false;    ///< of the platform's store
  bool offers_silent = false;  ///< of another cluster
};

/// Why nothing may be removed.
enum class Freeze : std::uint8_t {
  unhealthy,         ///< too many nodes are bad
  observer_suspect,  ///< more likely it is us who cannot see
};

/// The snake_case name used in JSON and metrics.
[[nodiscard]] std::string_view name(Freeze freeze);

/// What may disappear by choice, over a window of time. What cannot be seen is not gone: when many
/// nodes seem to be missing at once nothing is removed at all.
class Guard {
 public:
  explicit Guard(const GuardLimits& limits) : limits_{limits} {}

  /// Call when something of it changes, and each few seconds.
  void observe(const Health& health, TimePoint now);

  /// While this is set there are no removals, moves out, or revocations; growth is allowed.
  [[nodiscard]] const std::optional<Freeze>& frozen() const { return frozen_; }

  /// How many more may be removed now. `percent`: allowed by a command for itself, at most
  /// percent_top.
  [[nodiscard]] std::int32_t allowance(TimePoint now, std::optional<std::int32_t> percent = {});

  /// Of `asked`, how many may be removed now; those count as removed. The others wait.
  [[nodiscard]] std::int32_t take(std::int32_t asked, TimePoint now,
                                  std::optional<std::int32_t> percent = {});

 private:
  struct Seen {
    Duration at{};
    std::int32_t nodes = 0;
    std::int32_t silent = 0;
  };

  struct Removed {
    Duration at{};
    std::int32_t count = 0;
  };

  void note(const Health& health, Duration at);
  [[nodiscard]] bool blind(const Health& health, Duration at);
  void drop_old(Duration at);

  GuardLimits limits_;
  Elapsed elapsed_;
  std::deque<Seen> seen_;        // the oldest is as it was when the window began
  std::deque<Removed> removed_;  // within the window
  std::int32_t ready_ = 0;
  bool silent_ = false;  // most nodes fell silent together, and are
  std::optional<Freeze> frozen_;
};

}  // namespace sluice::placement
