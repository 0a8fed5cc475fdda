#pragma once

#include "autoscaler/placement/core/move_view.h"
#include "bench/replays/placement/timeline.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::replay {

/// The two places of a move.
enum class Side : std::uint8_t { from, to };

/// One service, and what its world is like.
struct ServiceSpec {
  std::string name = "shop";
  std::int32_t replicas = 1;     ///< at the beginning, at `from`
  std::int32_t replicas_to = 0;  ///< the same, at `to`
  double rate = 50;              ///< requests a second, whatever becomes of those before
  Duration answer = std::chrono::milliseconds{20};  ///< of a request, on average
  Duration first = std::chrono::milliseconds{50};   ///< the first on a replica takes this longer
  std::int32_t concurrency = 10;                    ///< requests at once on a replica
  Duration start = std::chrono::milliseconds{1500};
  double image_bytes = 0;      ///< to be loaded before a start at `to`
  std::int32_t room_from = 0;  ///< replicas beside the first that `from` has room for
  std::int32_t room_to = 1'000;
  std::uint64_t seed = 1;
};

/// What has become of the requests of a service.
struct Outcomes {
  std::int64_t arrived = 0;
  std::int64_t served = 0;
  std::int64_t failed = 0;  ///< answered with an error by the program
  std::int64_t broken = 0;  ///< its replica ended by itself, or its place was lost
  std::int64_t cut = 0;     ///< its replica was stopped
  /// Times that a front door might have sent one to a replica that was being stopped.
  std::int64_t exposed = 0;

  [[nodiscard]] std::int64_t ended() const { return served + failed + broken + cut; }
};

/// Replicas of one service at two places, two front doors before them, open-loop requests, and a
/// platform that does what is ordered. Faults come from outside.
class ServiceWorld {
 public:
  static constexpr std::size_t kDoors = 2;

  /// Both outlive this. `link`: images come over it.
  ServiceWorld(Timeline& timeline, Link& link, const ServiceSpec& spec);

  /// The requests begin, or end.
  void set_rate(double rate);

  /// What a move is shown now.
  [[nodiscard]] placement::MoveView view() const;

  void apply(const placement::MoveOrders& orders);

  // --- faults ---

  void crash(Side side);                    ///< one replica that is ready, if there is one
  void lose(Side side, bool lost);          ///< or see it again
  void set_failing(Side side, bool fails);  ///< requests there fail, all of them
  void set_stuck(Side side, bool stuck);    ///< what is stopped there does not end
  void set_unready(bool unready);           ///< what starts at `to` does not become ready
  void set_unstartable(bool fails);         ///< what starts at `to` fails
  void set_door_delay(Duration delay);      ///< until a front door applies an order

  void set_answer(Duration answer) { spec_.answer = answer; }

  void set_room(Side side, std::int32_t free) { at(side).free = free; }

  void set_wanted(std::int32_t wanted) { wanted_ = wanted; }

  [[nodiscard]] std::int32_t wanted() const { return wanted_; }

  [[nodiscard]] const Outcomes& outcomes() const { return outcomes_; }

  /// Requests that are neither answered nor broken off.
  [[nodiscard]] std::int64_t open() const { return outcomes_.arrived - outcomes_.ended(); }

  /// When each answer came, and after how long.
  struct Answer {
    TimePoint at{};
    Duration took{};
  };

  [[nodiscard]] const std::vector<Answer>& answers() const { return answers_; }

  /// Replicas that there are, whatever they do.
  [[nodiscard]] std::int32_t count(Side side) const;

  /// Of them, those that can take a request.
  [[nodiscard]] std::int32_t able(Side side) const;

  /// Of them, those that the last orders let take requests.
  [[nodiscard]] std::int32_t serving(Side side) const;

  /// Room that the ledger holds at `to` for replicas that do not exist.
  [[nodiscard]] std::int32_t reserved() const { return reserved_; }

  /// When the first replica at `to` began to start, and when the last one was ready.
  [[nodiscard]] std::optional<TimePoint> loaded_at() const { return loaded_at_; }

  [[nodiscard]] std::optional<TimePoint> ready_at() const { return ready_at_; }

 private:
  struct Pod {
    PodId id;
    std::int32_t number = 0;
    Side side = Side::from;
    std::uint64_t life = 0;  // another one: what was on it has been broken off
    bool loading = false;
    bool ready = false;
    bool failed = false;
    bool stopping = false;
    bool asked = false;               // had a request
    std::uint64_t avoid_version = 0;  // of the order that avoids it; 0: none does
    std::array<bool, kDoors> avoided{};
    std::int64_t in_flight = 0;
  };

  struct Seat {
    bool there = true;
    bool failing = false;
    bool stuck = false;
    std::int32_t free = 0;
    placement::Tally tally{};
  };

  struct Request {
    TimePoint arrived{};
    std::size_t door = 0;
  };

  [[nodiscard]] Seat& at(Side side) { return seats_[static_cast<std::size_t>(side)]; }

  [[nodiscard]] const Seat& at(Side side) const { return seats_[static_cast<std::size_t>(side)]; }

  [[nodiscard]] bool able(const Pod& pod) const {
    return pod.ready && !pod.stopping && at(pod.side).there;
  }

  [[nodiscard]] Pod* find(const PodId& id);
  [[nodiscard]] placement::PlaceView view_of(Side side) const;
  [[nodiscard]] std::int32_t living(Side side) const;
  void arrive();
  void dispatch();
  [[nodiscard]] Pod* choose(std::size_t door);
  void send(const Request& request, Pod& pod);
  void answer(const PodId& id, std::uint64_t life, const Request& request);
  void break_off(Pod& pod, bool by_order);
  void make_pods(Side side, std::int32_t wanted);
  void make_pod(Side side);
  void start_pod(const PodId& id);
  void finish_start(const PodId& id);
  void stop_pod(Pod& pod);
  void end_pod(const PodId& id, bool by_order);
  void publish(const placement::MoveOrders& orders);
  void reserve(std::int32_t wanted);
  [[nodiscard]] Duration shaken(Duration usual);

  Timeline& timeline_;
  Link& link_;
  ServiceSpec spec_;
  std::mt19937_64 arrivals_;
  std::mt19937_64 answers_random_;
  std::mt19937_64 platform_random_;
  std::array<Seat, 2> seats_{};
  std::deque<Pod> pods_;  // as they were made
  std::deque<Request> waiting_;
  std::uint64_t rate_turn_ = 0;
  std::int32_t made_ = 0;
  std::int32_t wanted_ = 0;
  std::int32_t reserved_ = 0;
  std::set<std::string> ordered_avoid_;
  std::uint64_t version_ = 0;
  std::array<std::uint64_t, kDoors> applied_{};
  Duration door_delay_ = std::chrono::milliseconds{1};
  bool unready_ = false;
  bool unstartable_ = false;
  Outcomes outcomes_;
  std::vector<Answer> answers_;
  std::optional<TimePoint> loaded_at_;
  std::optional<TimePoint> ready_at_;
};

}  // namespace sluice::replay
