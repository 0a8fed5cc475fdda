#pragma once

#include "memory-pressure/core/bridged_memory.h"
#include "memory-pressure/core/forecast.h"
#include "memory-pressure/core/headroom_policy.h"
#include "memory-pressure/core/members.h"
#include "memory-pressure/core/own_time.h"
#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/settings.h"
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::node_agent {

/// The rule that decides before a container has memory: a batch container whose expected use does
/// not fit is held from its birth, and let go, the oldest first, when it does. Running ones are
/// held when what is free is nearly gone, the one that needs least never: it reaches what it
/// claims, and frees. Who serves and has no request in flight is held before any of them, and let
/// go after them. Containers that are neither are throttled by their quota, as the headroom rule
/// does, once no batch container is left to be held (memory-pressure.md 5).
class ForesightPolicy final : public Policy {
 public:
  explicit ForesightPolicy(const PolicySettings& settings);

  [[nodiscard]] Decision decide(const Observation& seen) override;

  [[nodiscard]] std::string learned() const override { return members_.kin().text(); }

  void learn(std::string_view lines) override { members_.kin().read(lines); }

 private:
  /// A member with what is foreseen of it.
  struct Runner {
    Member* member = nullptr;
    Outlook outlook;
  };

  /// What one decision is made of.
  struct Tick {
    TimePoint now;
    double cap = 0;     ///< bytes that may be used
    double free = 0;    ///< of them
    double growth = 0;  ///< bytes that may be taken before a hold governs
    double edge = 0;    ///< that, and at least a share of the cap
    bool above_upper = false;
    bool above_lower = false;
    Forecast forecast{};
    std::vector<Runner> running{};  ///< of a Job; the youngest first
    std::vector<Runner> held{};
    std::vector<Runner> resting{};  ///< serve, and have no request in flight; held or not
  };

  [[nodiscard]] Tick look(const NodeMemory& memory, Duration latency, TimePoint now);
  [[nodiscard]] double grown_lately(std::int64_t used, Duration within, TimePoint now);
  [[nodiscard]] bool fits(const Forecast& forecast, double cap) const;

  void take_turns(Tick& tick);
  void hold_resting(Tick& tick);
  void let_resting_go(Tick& tick);
  void hold_what_does_not_fit(Tick& tick);
  [[nodiscard]] static std::vector<Runner>::const_iterator least_of(
      const std::vector<Runner>& runners);
  [[nodiscard]] static double least_need(const Tick& tick);
  void brake(Tick& tick);
  void change_places(Tick& tick);
  void set_caution(TimePoint now);
  void note_brake(TimePoint now);
  void let_go(Tick& tick);
  [[nodiscard]] bool is_worth_a_try(const Tick& tick, const Runner& held) const;
  void keep_one_running(Tick& tick);
  void hold_unknown(const Tick& tick);
  void note_admitted();
  static void hold(Tick& tick, std::size_t at, std::string_view why);
  static void release(Tick& tick, std::size_t at);

  void list_held(Decision& decision) const;
  void conclude(const Tick& tick, const NodeMemory& memory, Decision& decision) const;
  void admit(const Tick& tick, Decision& decision) const;
  [[nodiscard]] std::string in_words(const Tick& tick) const;

  PolicySettings settings_;
  OwnTime time_;
  Members members_;
  HeadroomPolicy others_;
  std::deque<std::pair<TimePoint, std::int64_t>> used_;  // lately, in bytes
  BridgedMemory memory_;
  TimePoint decided_at_;
  std::optional<TimePoint> turn_until_;
  std::optional<TimePoint> braked_at_;
  std::optional<TimePoint> cautious_until_;
  double confidence_;  ///< z in force
  double brake_;       ///< r in force
  double growth_ = 0;  ///< of late, in bytes within one reaction
};

/// MakePolicy of this rule.
[[nodiscard]] std::unique_ptr<Policy> make_foresight(const PolicySettings& settings);

}  // namespace sluice::node_agent
