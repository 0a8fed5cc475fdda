#pragma once

#include "autoscaler/placement/core/elapsed.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/move_side.h"
#include "autoscaler/placement/core/move_view.h"
#include "autoscaler/placement/core/step_watch.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

// A move takes replicas of one service from one place to another behind its traffic: the new ones
// are started and warm before the first request is led to them, the old ones serve until the new
// ones have been seen to, and a replica is stopped after its last request.
//
// How it is driven. The program that carries moves out (on one machine the engine) calls step()
// with each change of what it shows, and at least each 100 ms while a move runs. A pod that goes
// and another of its name are shown in two steps, or with `stopping` in between. What the view is
// made of:
//
//   replicas     the pods of the revision that the platform reports at each place, in the order in
//                which Removals would choose them; `in_flight` is FrontGateway::in_flight(revision,
//                pod) or, with activators elsewhere, what the last scrape of the sidecar said
//   reached      the front doors list the pod as ready: on one machine the same as `ready`
//   avoided      the pod is in the `avoid` that was published, and ActivatorHub::applied() holds
//                for the version that brought it there
//   tally        FrontOwner::on_served() of the pods at each place: what ends in 5xx, or is broken
//                off, failed; a retry that another pod served did not
//   wanted       what the scaler wants of the revision, bounded, less its replicas in third places
//   most         the ledger: replicas there, reservations of this move, and what fits beside them
//   reserved     reservations in the ledger that Owner::of(move) has at `to`
//
// and what happens to the orders:
//
//   from, to     replicas that should live at each place: the `replicas` of its ScaleOrder
//   avoid        RevisionState.avoid and ScaleOrder.avoid, instead of what Removals would choose
//   stop         ScaleOrder.remove: the platform drains and stops them
//   reserve      Purpose::move reservations at `to` are made or released until there are that many
//   freed        the room of that many replicas is reserved for `held_for` at `from`, purpose admit
//
// While a move runs, the revision's own Removals choose nothing, and ordinary growth does not go to
// `from`. When it is over, the places have what the orders say, and both are as before.
namespace sluice::placement {

/// All new replicas are ready for this long before the first takes requests.
inline constexpr Duration kStableReady = std::chrono::seconds{2};

/// Replicas must exist after this many usual starts, or kStartLeast; and be ready after twice that.
inline constexpr std::int64_t kUsualStarts = 3;
inline constexpr Duration kStartLeast = std::chrono::seconds{60};

/// In how many steps all replicas are listed, at most.
inline constexpr std::int32_t kShiftSteps = 4;

/// What may be stopped and does not go for this long is an alarm.
inline constexpr Duration kGoneLimit = std::chrono::minutes{2};

/// The room that a move frees is kept for the demand it was promised.
inline constexpr Duration kHeldFor = std::chrono::seconds{60};

/// All replicas of the service at the place.
inline constexpr std::int32_t kAllReplicas = std::numeric_limits<std::int32_t>::max();

struct MoveSpec {
  MoveId id{};
  std::string service{};  ///< the names are for words
  std::string from{};
  std::string to{};
  MoveCause cause = MoveCause::hand;
  std::int32_t replicas = kAllReplicas;  ///< that go
  std::optional<ServiceId> held_for{};   ///< gets the room
  Duration usual_start{0};               ///< of a replica, until it is ready; 0: not measured
  DrainLimits drain{};
  Duration shift_hold = kShiftHold;  ///< how long each step is watched
};

/// One move, from its plan to its end. Time is an argument, and a clock that steps back ends
/// nothing early.
class Move {
 public:
  Move(MoveSpec spec, TimePoint now);

  /// What is in force from now on; until the next step.
  const MoveOrders& step(const MoveView& view, TimePoint now);

  /// The demand that is to get the room has gone: before the shift the move is given up, later it
  /// is finished and its room is free.
  void withdraw() { unwanted_ = true; }

  [[nodiscard]] MoveState state() const { return record_.state; }

  [[nodiscard]] const MoveRecord& record() const { return record_; }

  [[nodiscard]] const MoveSpec& spec() const { return spec_; }

  /// Done or given up: no further step changes anything.
  [[nodiscard]] bool over() const {
    return state() == MoveState::done || state() == MoveState::aborted;
  }

 private:
  // How many replicas where, for the number that is wanted now.
  struct Numbers {
    std::int32_t wanted = 0;
    std::int32_t base = 0;       // of them at `to`, whether the move is or not
    std::int32_t goal_from = 0;  // after it
    std::int32_t goal_to = 0;
    std::int32_t most_from = 0;

    [[nodiscard]] std::int32_t moving() const { return goal_to - base; }
  };

  struct Shares {
    std::int32_t live = 0;
    std::int32_t chosen = 0;
  };

  [[nodiscard]] Numbers numbers(const MoveView& view) const;
  void look(const MoveView& view, Duration at);
  void heed(const MoveView& view, Duration at, TimePoint now);
  void heed_service(const MoveView& view, Duration at, TimePoint now);
  void heed_loss(const MoveView& view, Duration at);
  bool advance(const MoveView& view, Duration at, TimePoint now);
  bool begin(const MoveView& view, Duration at, TimePoint now);
  bool hold_room(const MoveView& view, Duration at, TimePoint now);
  bool start(const MoveView& view, Duration at, TimePoint now);
  bool warm(const MoveView& view, Duration at, TimePoint now);
  bool shift(const MoveView& view, Duration at, TimePoint now);
  bool judge_step(const MoveView& view, const Numbers& numbers, Duration at, TimePoint now);
  bool drain(const MoveView& view, Duration at, TimePoint now);
  bool remove(const MoveView& view, Duration at, TimePoint now);
  bool clean_up(const MoveView& view, Duration at, TimePoint now);
  bool nothing_to_shift(const Numbers& numbers, Duration at);
  bool start_is_late(Duration at, TimePoint now, const std::string& what);
  void note_starts(const Numbers& numbers, Duration at);
  [[nodiscard]] Shares shares_from(const Numbers& numbers) const;
  [[nodiscard]] Shares shares_to(const Numbers& numbers) const;
  [[nodiscard]] std::int32_t staying_at_to(const Numbers& numbers) const;
  void order(const MoveView& view, Duration at, TimePoint now);
  void enter(MoveState state, Duration at);
  void resume(MoveState state, Duration at);
  void give_up(MoveEnd end, std::string why, Duration at, TimePoint now);
  void finish(MoveState state, MoveEnd end, std::string why, TimePoint now);
  void get_stuck(std::string why);
  [[nodiscard]] Duration start_limit() const;

  [[nodiscard]] bool before(MoveState state) const { return phase_ < state; }

  MoveSpec spec_;
  MoveRecord record_;
  MoveState phase_ =
      MoveState::planned;  // as the state, and while it is stuck, what it is stuck in
  MoveOrders orders_;
  Elapsed elapsed_;
  MoveSide from_;
  MoveSide to_;
  bool begun_ = false;         // the first step was made
  std::int32_t had_from_ = 0;  // replicas, at the first step
  std::int32_t had_to_ = 0;
  std::int32_t goal_to_ = 0;  // the highest so far
  std::int64_t cut_before_ = 0;
  Duration anchor_{0};   // limits of the present phase count from here
  Duration started_{0};  // entered starting
  Duration drained_{0};  // entered draining
  bool fresh_ = false;   // the phase was entered in this step
  StepWatch watch_;
  std::int32_t held_ = 0;    // new replicas whose step has held
  std::int32_t target_ = 0;  // and with the present step
  bool all_ = false;         // one replica: the old one is avoided, the step is watched again
  bool failing_ = false;     // requests fail at `to`
  bool deleted_ = false;
  bool unwanted_ = false;
  std::int64_t ended_requests_ = 0;        // at both places, at the last step
  Duration traffic_at_{0};                 // the last sign of a request
  std::optional<Duration> short_since_{};  // `to` alone is too few since then
  std::optional<Duration> lost_since_{};   // `from` is
};

}  // namespace sluice::placement
