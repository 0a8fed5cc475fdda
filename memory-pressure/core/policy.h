#pragma once

#include "memory-pressure/core/node.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::node_agent {

/// A gap between two looks that is longer than this means that the agent was paused; nothing was
/// observed meanwhile.
inline constexpr Duration kLookGapMax = std::chrono::seconds{5};

/// `admit_bytes` of a node whose start gate is not in use.
inline constexpr std::int64_t kAdmitAnything = std::numeric_limits<std::int64_t>::max();

/// How near the node is to running out (protocols.md 4).
enum class Pressure : std::uint8_t { ok, high, critical };

/// `ok`, `high` or `critical`.
[[nodiscard]] constexpr std::string_view name_of(Pressure pressure) {
  switch (pressure) {
    case Pressure::ok:
      return "ok";
    case Pressure::high:
      return "high";
    case Pressure::critical:
      return "critical";
  }
  return "ok";
}

/// A container to hold at less CPU than it was given.
struct Throttle {
  std::string id{};
  CpuQuota quota{};
  std::uint32_t ladder_step = 0;  ///< of memory-pressure.md 5.5
  bool freeze = false;            ///< held in the freezer, which lets nothing through: no quota
  std::string why{};              ///< one line, with the numbers that led to it
};

/// A container to be ended, so that the others can finish.
struct Sacrifice {
  std::string id{};
  Duration grace{};  ///< from SIGTERM to SIGKILL
  std::string why{};
};

/// The decision of a policy. Full state: a container that is not in `throttled` shall have what it
/// was given.
struct Decision {
  Pressure pressure = Pressure::ok;
  std::vector<Throttle> throttled;     ///< in order of restriction
  std::optional<Sacrifice> sacrifice;  ///< once; not repeated while it is carried out
  std::int64_t admit_bytes = 0;        ///< largest claim that may start now; 0: the gate is shut
  std::int64_t room_bytes = 0;         ///< of all that may start now together
  bool empty = false;                  ///< nothing runs: one may start whatever it claims
  bool dense = false;                  ///< the next looks shall follow soon
  bool retire_idle = false;            ///< ladder step 0: idle replicas should go first
  std::vector<std::string> reclaim;    ///< ladder step 1: containers whose cold page cache can go
  double upper = 0;                    ///< the threshold in force, as a share of capacity
  std::int64_t growth_per_second = 0;  ///< bytes, of all containers together
  std::string why{};                   ///< one line for people: what is seen and what follows
};

/// A rule that turns what is seen into what is wanted. Belongs to one thread; remembers what it
/// needs of earlier observations. Time comes with the observation and may step in both directions.
class Policy {
 public:
  virtual ~Policy() = default;

  [[nodiscard]] virtual Decision decide(const Observation& seen) = 0;

  /// What it has learned about kinds of containers, as lines of text for the next process; empty:
  /// it learns nothing.
  [[nodiscard]] virtual std::string learned() const { return {}; }

  /// Takes what an earlier process had learned; broken lines are skipped.
  virtual void learn(std::string_view /*lines*/) {}
};

/// Makes a rule of settings that have passed `check`.
using MakePolicy = std::function<std::unique_ptr<Policy>(const PolicySettings& settings)>;

}  // namespace sluice::node_agent
