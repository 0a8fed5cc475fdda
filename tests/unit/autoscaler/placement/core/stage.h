#pragma once

#include "autoscaler/placement/core/move.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::placement {

/// A move between fast and slow before a platform that does what it is ordered within a tick, and
/// front doors that share requests equally. What is not said is fine.
class Stage {
 public:
  static constexpr Duration kTick = std::chrono::milliseconds{100};

  struct Pod {
    ReplicaView seen;
    bool at_to = false;
    bool taking = true;  // it is in the choice of the front doors
    TimePoint made{};
    bool ordered_to_stop = false;
  };

  /// So many replicas at fast, and at slow, all ready.
  explicit Stage(std::int32_t from, std::int32_t to = 0, MoveSpec spec = {});

  /// Ticks, each with one step of the move.
  void play(Duration length);

  /// Until the move is in that state. False: it was not within ten minutes.
  bool play_until(MoveState state);

  /// States at the ends of steps, in order, each once: "starting warming shifting".
  [[nodiscard]] const std::string& states() const { return states_; }

  [[nodiscard]] const MoveOrders& orders() const { return orders_; }

  [[nodiscard]] MoveState state() const { return move.state(); }

  /// Replicas that take requests, at fast or at slow.
  [[nodiscard]] std::int32_t taking(bool at_to) const;

  /// Replicas that there are.
  [[nodiscard]] std::int32_t count(bool at_to) const;

  void crash(bool at_to);  ///< all that are ready

  /// All that are there have that many requests without an end.
  void hold_requests(bool at_to, std::int64_t in_flight);

  Move move;
  MoveView flags;  ///< shown with each step but for what the stage knows itself
  TimePoint now{std::chrono::hours{480'000}};
  std::int64_t rate = 50;  ///< requests a second at both places together
  bool fails_from = false;
  bool fails_to = false;
  bool starts = true;  ///< new replicas become ready
  bool acknowledges = true;
  bool ends = true;  ///< what is stopped goes
  Duration start = std::chrono::milliseconds{1500};
  std::int32_t room = 100;  ///< that the ledger has at slow
  std::int32_t freed = 0;   ///< as ordered, in all
  std::vector<Pod> pods;

 private:
  void add(bool at_to, bool ready);
  void send_requests();
  void advance_pods();
  void obey();
  [[nodiscard]] MoveView view() const;
  void tick();

  MoveOrders orders_;
  std::string states_;
  std::int32_t made_ = 0;
  std::int64_t due_ = 0;  // tenths of requests
  std::size_t turn_ = 0;
  std::int32_t reserved_ = 0;
};

}  // namespace sluice::placement
