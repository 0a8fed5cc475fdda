#pragma once

#include "autoscaler/placement/core/move_view.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::placement {

/// How long requests on a replica that leaves are waited for.
struct DrainLimits {
  Duration request_max = std::chrono::minutes{5};  ///< the longest that a request may take
  Duration drain_max = std::chrono::minutes{10};   ///< what streams that move bytes get at most
};

/// A stream that moved no byte for this long is not waited for beyond the time of a request.
inline constexpr Duration kStreamQuiet = std::chrono::seconds{10};

/// The replicas of one service at one of the two places of a move: which of them take requests,
/// which leave, and which of those may be stopped.
///
/// A replica that leaves is avoided first. It may be stopped once every front door avoids it and
/// its last request has ended, or its time is over; until then the choice can be taken back, and it
/// takes requests again at once.
class MoveSide {
 public:
  /// `joins`: replicas that appear later take requests from the beginning.
  MoveSide(bool joins, const DrainLimits& limits) : joins_{joins}, limits_{limits} {}

  /// What there is now. Those of the first look take requests.
  void look(const PlaceView& view, Duration at);

  /// That should live: they neither leave by order nor end.
  [[nodiscard]] std::int32_t live() const;

  /// Of them, those that could take a request now.
  [[nodiscard]] std::int32_t ready() const;

  /// Of them, those that have been able to for `hold`.
  [[nodiscard]] std::int32_t settled(Duration hold, Duration at) const;

  /// Ready ones that take requests.
  [[nodiscard]] std::int32_t serving() const;

  /// Of those that live, how many cannot become ready.
  [[nodiscard]] std::int32_t failed() const;

  /// That may be stopped and have not gone.
  [[nodiscard]] std::int32_t stopping() const;

  /// That went by order, since the last call.
  [[nodiscard]] std::int32_t take_gone();

  /// Those that exist have gone: the place is not there any more.
  [[nodiscard]] bool empty() const { return replicas_.empty(); }

  [[nodiscard]] std::int64_t in_flight() const;

  /// From now on `live` replicas should live, and `chosen` of them take requests: those that do
  /// already before others, ready ones before those that are not. Of the others the ones that are
  /// removed first by PlaceView::replicas leave.
  void assign(std::int32_t live, std::int32_t chosen);

  /// The drains that are over. With `may_stop` false no further replica may be stopped.
  void drain(bool may_stop, Duration at);

  /// The replica whose drain began last may be stopped since then.
  [[nodiscard]] Duration stopped_at() const { return stopped_at_; }

  /// Whether all that is to leave may be stopped, or has gone.
  [[nodiscard]] bool drained() const;

  void append_orders(MoveOrders& orders) const;

 private:
  struct Replica {
    ReplicaView seen;
    bool chosen = false;   // takes requests
    bool leaving = false;  // by order
    bool stopped = false;  // may be stopped
    bool overdue = false;  // with requests that have had their time
    std::optional<Duration> ready_since{};
    std::optional<Duration> drains_since{};  // every front door avoids it
    Duration moved_at{};                     // its progress was another before

    [[nodiscard]] bool lives() const { return !stopped && !seen.stopping; }

    [[nodiscard]] bool able() const { return lives() && seen.ready && seen.reached; }
  };

  [[nodiscard]] bool drained(const Replica& replica, Duration at) const;

  bool joins_;
  DrainLimits limits_;
  bool looked_ = false;
  bool there_ = true;
  std::vector<Replica> replicas_;  // as shown: the first to be removed first
  std::int32_t gone_ = 0;
  Duration stopped_at_{0};
};

}  // namespace sluice::placement
