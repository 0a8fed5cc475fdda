#pragma once

#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/move.h"
#include "autoscaler/placement/core/move_view.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::placement {

/// Bounds of all moves together.
struct MoveLimits {
  std::int32_t running_max = 32;  ///< moves at a time
  /// Replicas on their way out of a place that a person drains, unless one service has more. The
  /// place is one thing to the guard, however many nodes it has: the person has decided about it.
  std::int32_t drain_batch = 10;
  /// Of the moves into one place, those that have to load an image there.
  std::int32_t loading_max = 10;
  Duration service_pause = std::chrono::minutes{10};  ///< of a service that was moved
  /// Until a service is moved again to a place where it did not start, or where requests failed.
  Duration pair_pause = std::chrono::minutes{30};
  Duration shift_hold = kShiftHold;  ///< of the moves that begin from now on
};

/// All moves: those that run, one for each service; those that wait; and the results of the last
/// ones.
class Moves {
 public:
  /// Moves that wait, at most.
  static constexpr std::size_t kWaitingMax = 1'000;

  /// Records of moves that are over, kept at most.
  static constexpr std::size_t kRecordsMax = 200;

  struct Wish {
    ServiceId service{};
    PlaceId from{};
    PlaceId to{};
    std::int32_t replicas = 1;  ///< that leave, as planned
    bool loads = false;         ///< an image that is not known to be at `to`
    MoveSpec spec{};            ///< its id is given here
  };

  explicit Moves(const MoveLimits& limits) : limits_{limits} {}

  /// From now on. Moves that run go on as they began.
  void set_limits(const MoveLimits& limits) { limits_ = limits; }

  /// The number of the move that is added next.
  [[nodiscard]] MoveId next_id() const { return static_cast<MoveId>(next_id_); }

  /// Why a service may not be moved to a place now, as a sentence; empty: it may. A person may
  /// always: a second move by hand waits for the first.
  [[nodiscard]] std::string refusal(const Wish& wish, TimePoint now) const;

  /// It runs from the next begin_due() on, or waits for its turn. Absent: refusal() says why, or
  /// as many wait as may.
  std::optional<MoveId> add(Wish wish, TimePoint now);

  /// Begins those that wait and may begin, in the order in which they were added. Returns their
  /// numbers. `look` corrects where the service is by now: one that is at its destination already
  /// is moved with 0 replicas, and not among them.
  std::vector<MoveId> begin_due(TimePoint now, const std::function<void(Wish&)>& look = {});

  /// The move of a service that runs; null: none does.
  [[nodiscard]] const Move* find(ServiceId service) const;

  /// One step of a move that runs. When it is over, it runs no more, and the pauses begin. The
  /// orders hold until the next call.
  const MoveOrders& step(MoveId id, const MoveView& view, TimePoint now);

  /// Of those that run, as they began.
  [[nodiscard]] std::vector<MoveId> running() const;

  [[nodiscard]] const Wish& wish(MoveId id) const { return running_.at(id).wish; }

  [[nodiscard]] const Move& move(MoveId id) const { return running_.at(id).move; }

  /// The demand of a service needs no room any more. Returns what of it waited, and is dropped.
  std::vector<Wish> withdraw(ServiceId demand);

  /// A move for the demand of that service runs or waits.
  [[nodiscard]] bool makes_room_for(ServiceId demand) const;

  /// Replicas that moves will start which have not begun to reserve room; `reserved` says how many
  /// room is kept for all the same.
  [[nodiscard]] std::int64_t to_start(const std::function<std::int32_t(MoveId)>& reserved) const;

  /// Replicas on their way out of a place, as planned: of moves that run.
  [[nodiscard]] std::int32_t leaving(PlaceId from) const;

  /// Before that a service is moved by no plan; absent: it may be.
  [[nodiscard]] std::optional<TimePoint> cooling_until(ServiceId service, TimePoint now) const;

  /// The same, to one place.
  [[nodiscard]] std::optional<TimePoint> cooling_until(ServiceId service, PlaceId to,
                                                       TimePoint now) const;

  /// "could not be moved to slow, which is tried again in 1788 s"; empty: it may be moved there.
  [[nodiscard]] std::string pause_words(ServiceId service, PlaceId to, const std::string& name,
                                        TimePoint now) const;

  /// Forgets the pauses of a service that was deleted.
  void forget(ServiceId service);

  /// No move runs, and none waits.
  [[nodiscard]] bool idle() const { return running_.empty() && waiting_.empty(); }

  /// A move of the service runs or waits.
  [[nodiscard]] bool pending(ServiceId service) const;

  /// Of every move that runs, waits, or was one of the last: the newest first.
  [[nodiscard]] std::vector<MoveRecord> records() const;

 private:
  struct Waiting {
    Wish wish;
    TimePoint since{};
  };

  struct Running {
    Wish wish;
    Move move;
  };

  [[nodiscard]] bool may_begin(const Wish& wish) const;
  void end(std::map<MoveId, Running>::iterator ended, TimePoint now);
  void keep(const MoveRecord& record);
  [[nodiscard]] static MoveRecord record_of(const Waiting& waiting);

  MoveLimits limits_;
  std::uint32_t next_id_ = 1;
  std::deque<Waiting> waiting_;
  std::map<MoveId, Running> running_;
  std::map<ServiceId, MoveId> of_service_;
  std::map<ServiceId, TimePoint> cooling_;
  std::map<std::pair<ServiceId, PlaceId>, TimePoint> cooling_pairs_;
  std::deque<MoveRecord> over_;  // the newest first
  MoveOrders last_orders_;       // of the move that is over since the last step
};

}  // namespace sluice::placement
