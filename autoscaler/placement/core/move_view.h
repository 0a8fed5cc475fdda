#pragma once

#include "autoscaler/placement/core/ids.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a move is shown, and what it orders.
namespace sluice::placement {

/// One replica of the service that moves.
struct ReplicaView {
  PodId id;
  bool ready = false;
  bool reached = false;  ///< by the front doors, over the connections that requests will use
  bool failed = false;   ///< it cannot become ready as it is
  /// Every front door has applied an order that avoids it, given since it last took requests.
  bool avoided = false;
  bool stopping = false;       ///< the platform stops it
  std::int64_t in_flight = 0;  ///< requests on it; an open stream is one
  /// Changes while a request on it moves bytes; constant where that is not measured.
  std::uint64_t progress = 0;
};

/// Requests of the service that have ended at one place, counted from any moment on.
struct Tally {
  std::int64_t requests = 0;
  std::int64_t failed = 0;  ///< pod unreachable, refused by it, broken off, or answered with 5xx
  std::int64_t cut = 0;     ///< of the failed: broken off because the replica was stopped

  friend bool operator==(const Tally&, const Tally&) = default;
};

/// No bound on the replicas that a place can have.
inline constexpr std::int32_t kNoMost = std::numeric_limits<std::int32_t>::max();

/// The service at one of the two places.
struct PlaceView {
  bool there = true;  ///< false: the place is lost, and `replicas` as it was last seen
  /// All that exist, those that would be removed first at the front (Removals: not ready, idlest,
  /// throttled, youngest).
  std::vector<ReplicaView> replicas{};
  /// Replicas of the service that the place can have: those that exist, those that room is
  /// reserved for, and those that it has room for.
  std::int32_t most = kNoMost;
  Tally tally{};
};

/// All that a step of a move looks at.
struct MoveView {
  PlaceView from{};
  PlaceView to{};
  std::int32_t wanted = 0;    ///< replicas the scaler asks for, less those in other places
  std::int32_t reserved = 0;  ///< replicas that the ledger holds room for at `to` for this move
  bool pulling = false;       ///< an image is being loaded for a replica at `to`
  bool outdated = false;      ///< the plan was made of a ledger that has changed since
  bool changed = false;       ///< the service has another template
  bool deleted = false;       ///< the service is deleted
  /// Why no replica of the service becomes ready any more; empty: one is, or may. One that has
  /// ended is not among the replicas.
  std::string start_failure{};
  /// Why no further replica may be started anywhere, whatever room `to` has, as a sentence; empty:
  /// one may.
  std::string no_starts{};
  bool frozen = false;  ///< the guard allows no removals (Guard::frozen)
  bool ending = false;  ///< this program stops
};

/// What is to be in force from now on: full state, repeated with every step.
struct MoveOrders {
  std::int32_t from = 0;       ///< replicas that should live there
  std::int32_t to = 0;         ///< the same
  std::int32_t reserve = 0;    ///< replicas at `to` to hold room for, beside those that exist
  std::vector<PodId> avoid{};  ///< at both places: get no requests while others can take them
  std::vector<PodId> stop{};   ///< may be stopped; each of them is avoided
  /// Of those, the ones with requests that have been waited for as long as they may be.
  std::vector<PodId> overdue{};
  /// Replicas that have gone from `from` since the last step, by order of this move. Their room is
  /// reserved for `held_for` until `held_until`; without one it is free.
  std::int32_t freed = 0;
  std::optional<ServiceId> held_for{};
  TimePoint held_until{};
  bool news = false;  ///< the record of the move says something else
};

/// What made a move necessary.
enum class MoveCause : std::uint8_t {
  full,   ///< another service needs the room
  drain,  ///< the place is emptied
  home,   ///< to a place that it likes more
  hand,   ///< a person asked for it
};

enum class MoveState : std::uint8_t {
  planned,
  reserved,
  starting,
  warming,
  shifting,
  draining,
  removing,
  done,
  aborting,
  aborted,
  stuck,  ///< what should go does not: the other side serves, and it is tried without end
};

/// How a move ended.
enum class MoveEnd : std::uint8_t {
  none,
  done,
  withdrawn,     ///< by the world around it: nothing is wrong with the destination
  no_room,       ///< at the destination, after all
  start_failed,  ///< at the destination
  shift_failed,  ///< requests failed at the destination
};

/// The snake_case names used in JSON.
[[nodiscard]] std::string_view name(MoveCause cause);
[[nodiscard]] std::string_view name(MoveState state);

/// One move, as `GET /api/v1/moves` and events have it.
struct MoveRecord {
  MoveId id{};
  std::string service{};
  std::string from{};
  std::string to{};
  MoveCause cause = MoveCause::hand;
  MoveState state = MoveState::planned;
  MoveEnd end = MoveEnd::none;
  std::int32_t replicas = 0;             ///< that are to go
  std::int32_t started = 0;              ///< at `to`
  std::optional<Duration> start_took{};  ///< until the last was ready
  std::vector<std::int32_t> listed{};    ///< how many of them took requests after each step
  std::int32_t drained = 0;              ///< gone from `from`
  std::optional<Duration> drain_took{};
  std::int64_t cut = 0;  ///< requests broken off by it
  bool asleep = false;   ///< there was nothing to move: the next start is at `to`
  std::string why{};     ///< it was given up, or is stuck
  TimePoint began{};
  std::optional<TimePoint> ended{};

  friend bool operator==(const MoveRecord&, const MoveRecord&) = default;
};

/// "shop  3 replicas fast -> slow: started 3 (1.6 s), listed 1, 2, 3, drained 3 (0.4 s); 0 requests
/// cut", as far as it has come.
[[nodiscard]] std::string line(const MoveRecord& record);

/// The same for who drains a place: "fast  pay 1 -> slow: started 1 (1.1 s), listed 1, drained 1
/// (0.2 s)".
[[nodiscard]] std::string drain_line(const MoveRecord& record);

}  // namespace sluice::placement
