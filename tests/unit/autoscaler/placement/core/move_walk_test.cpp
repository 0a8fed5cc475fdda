// Goal: whatever happens at the edge of any state, no request is cut, as many replicas as are
// wanted serve while there are as many that can, and a move ends with nothing of it left, or with
// an alarm until what holds it up is gone. Method: a simulated service under open-loop requests,
// with two front doors that apply orders late. At every change of state a fault may begin, of a
// random kind and for a random time. Every step is checked.

#include "autoscaler/placement/core/move.h"
#include "bench/replays/placement/service_world.h"
#include "bench/replays/placement/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>

namespace sluice::placement {
namespace {

using replay::ServiceWorld;
using replay::Side;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr double kRate = 6;
constexpr Duration kTick = milliseconds{100};

// After this much time a step is made each second only.
constexpr Duration kLively = minutes{2};

enum class Fault : std::uint8_t {
  crash_from,
  crash_to,
  lose_from,
  lose_to,
  fail_to,
  fail_both,
  stuck_from,
  stuck_to,
  unready,
  unstartable,
  slow_doors,
  no_room,
  load,
  change,
  withdrawal,
  deletion,
  freeze,
  clock,
  ending,
};
constexpr int kFaults = 19;

class Walk {
 public:
  explicit Walk(std::uint64_t seed)
      : random_{seed},
        link_{timeline_, 1e9},
        world_{timeline_, link_, service(seed)},
        move_{spec(), timeline_.now() + skew_},
        had_to_{world_.count(Side::to)} {
    world_.set_rate(kRate);
  }

  /// Until the move is over and its last request answered.
  void play() {
    constexpr Duration kLongest = hours{6};
    while (!move_.over() && timeline_.now() < TimePoint{kLongest}) {
      timeline_.run_until(timeline_.now() +
                          (timeline_.now() < TimePoint{kLively} ? kTick : seconds{1}));
      step();
      if (::testing::Test::HasFatalFailure()) return;
      // An alarm: the world is put in order.
      if (move_.state() == MoveState::stuck) {
        EXPECT_FALSE(move_.record().why.empty());
        ++alarms_;
        heal_all();
      }
    }
    ASSERT_TRUE(move_.over()) << "for hours " << line(move_.record()) << "; there are "
                              << world_.count(Side::from) << " and " << world_.count(Side::to)
                              << " of " << world_.wanted();
    heal_all();
    end();
  }

  [[nodiscard]] const Move& move() const { return move_; }

  [[nodiscard]] int alarms() const { return alarms_; }

 private:
  replay::ServiceSpec service(std::uint64_t seed) {
    return {.replicas = 1 + chance(5),
            .replicas_to = std::max(0, chance(6) - 3),
            .answer = milliseconds{100 + chance(900)},
            .concurrency = 50,
            .start = milliseconds{500 + chance(4'000)},
            .room_from = chance(3),
            .room_to = 20,
            .seed = seed};
  }

  MoveSpec spec() {
    MoveSpec spec{.id = MoveId{1}, .service = "shop", .from = "fast", .to = "slow"};
    if (chance(3) == 0) spec.replicas = 1 + chance(3);
    spec.held_for = ServiceId{7};
    spec.usual_start = seconds{3};
    // No request takes as long, so none is cut.
    spec.drain = {.request_max = minutes{1}, .drain_max = minutes{2}};
    return spec;
  }

  int chance(int below) { return std::uniform_int_distribution{0, below - 1}(random_); }

  void step() {
    const MoveState before = move_.state();
    MoveView view = world_.view();
    view.changed = changed_;
    view.deleted = deleted_;
    view.frozen = frozen_;
    view.ending = ending_;
    if (deleted_) view.wanted = 0;
    able_from_before_ = world_.able(Side::from);
    able_before_ = able_from_before_ + world_.able(Side::to);
    const MoveOrders orders = move_.step(view, timeline_.now() + skew_);
    if (ending_) return;  // the engine stops all replicas itself
    world_.apply(orders);
    check(view, orders);
    if (move_.state() != before && chance(2) == 0) begin(static_cast<Fault>(chance(kFaults)));
  }

  void check(const MoveView& view, const MoveOrders& orders) {
    ASSERT_EQ(world_.outcomes().cut, 0) << "a request was cut, in " << name(move_.state());
    ASSERT_EQ(world_.outcomes().exposed, 0) << "a replica that a front door chooses was stopped";
    if (move_.over()) {
      ASSERT_EQ(world_.reserved(), 0) << "room is reserved after the move";
      return;
    }
    for (const PodId& id : orders.stop) {
      ASSERT_NE(std::find(orders.avoid.begin(), orders.avoid.end(), id), orders.avoid.end());
    }
    if (deleted_) return;
    const std::int32_t able_from = world_.able(Side::from);
    const std::int32_t able = able_from + world_.able(Side::to);
    // New replicas at a place where requests fail are none.
    const bool failing = move_.record().end == MoveEnd::shift_failed;
    if (failing) {
      ASSERT_GE(able_from, std::min(view.wanted - had_to_, able_from_before_))
          << "a replica is stopped that is needed";
    } else {
      ASSERT_GE(able, std::min(view.wanted, able_before_))
          << "a replica is stopped that is needed, in " << name(move_.state());
    }
    const std::int32_t serving = world_.serving(Side::from) + world_.serving(Side::to);
    ASSERT_GE(serving, std::min(view.wanted, failing ? able_from : able))
        << "a replica is avoided that is needed, in " << name(move_.state());
  }

  // Until it is healed after some time, or by an alarm.
  void lasting(Fault fault, std::function<void()> heal) {
    heals_[fault] = heal;
    if (chance(5) == 0) return;
    timeline_.after(milliseconds{chance(30'000)}, [this, fault, heal] {
      heal();
      heals_.erase(fault);
    });
  }

  void heal_all() {
    for (const auto& [fault, heal] : heals_) heal();
    heals_.clear();
  }

  void lose(Fault fault, Side side) {
    world_.lose(side, true);
    lasting(fault, [this, side] { world_.lose(side, false); });
  }

  void begin(Fault fault) {
    switch (fault) {
      case Fault::crash_from:
        return world_.crash(Side::from);
      case Fault::crash_to:
        return world_.crash(Side::to);
      case Fault::lose_from:
        return lose(fault, Side::from);
      case Fault::lose_to:
        return lose(fault, Side::to);
      case Fault::fail_both:
        world_.set_failing(Side::from, true);
        [[fallthrough]];
      case Fault::fail_to:
        world_.set_failing(Side::to, true);
        return lasting(Fault::fail_to, [this] {
          world_.set_failing(Side::from, false);
          world_.set_failing(Side::to, false);
        });
      case Fault::stuck_from:
      case Fault::stuck_to: {
        const Side side = fault == Fault::stuck_from ? Side::from : Side::to;
        world_.set_stuck(side, true);
        return lasting(fault, [this, side] { world_.set_stuck(side, false); });
      }
      case Fault::unready:
        world_.set_unready(true);
        return lasting(fault, [this] { world_.set_unready(false); });
      case Fault::unstartable:
        world_.set_unstartable(true);
        return lasting(fault, [this] { world_.set_unstartable(false); });
      case Fault::slow_doors:
        world_.set_door_delay(seconds{5});
        return lasting(fault, [this] { world_.set_door_delay(milliseconds{1}); });
      case Fault::no_room:
      case Fault::load:
      case Fault::change:
      case Fault::withdrawal:
      case Fault::deletion:
      case Fault::freeze:
      case Fault::clock:
      case Fault::ending:
        return begin_around(fault);
    }
  }

  // Faults of what is around the service.
  void begin_around(Fault fault) {
    constexpr int kSeldom = 4;
    if (fault == Fault::no_room) world_.set_room(Side::to, 0);
    if (fault == Fault::load && !deleted_) {
      world_.set_wanted(chance(7));
      world_.set_rate(world_.wanted() > 0 ? kRate : 0);
    }
    if (fault == Fault::change) changed_ = true;
    if (fault == Fault::withdrawal) move_.withdraw();
    if (fault == Fault::deletion && chance(kSeldom) == 0) {
      deleted_ = true;
      world_.set_rate(0);
    }
    if (fault == Fault::freeze) {
      frozen_ = true;
      timeline_.after(milliseconds{chance(60'000)}, [this] { frozen_ = false; });
    }
    if (fault == Fault::clock) skew_ -= milliseconds{chance(3'600'000)};
    if (fault == Fault::ending && chance(kSeldom) == 0) ending_ = true;
  }

  // The requests of the end are answered by what is there.
  void end() {
    if (deleted_ || ending_) return;
    world_.set_rate(0);
    world_.set_wanted(std::max(1, world_.wanted()));
    MoveOrders orders;
    orders.from = world_.count(Side::from);
    orders.to = std::max(1, world_.count(Side::to));
    world_.apply(orders);
    timeline_.run_until(timeline_.now() + minutes{1});
    EXPECT_EQ(world_.open(), 0) << "requests are lost";
    EXPECT_EQ(world_.outcomes().cut, 0);
  }

  std::mt19937_64 random_;
  Duration skew_ = hours{480'000};
  replay::Timeline timeline_;
  replay::Link link_;
  ServiceWorld world_;
  Move move_;
  std::int32_t had_to_;
  std::map<Fault, std::function<void()>> heals_;
  bool changed_ = false;
  bool deleted_ = false;
  bool frozen_ = false;
  bool ending_ = false;
  std::int32_t able_before_ = 0;  // before the orders of the step
  std::int32_t able_from_before_ = 0;
  int alarms_ = 0;
};

TEST(MoveWalk, NoFaultAtTheEdgeOfAStateCutsARequestOrLeavesAReservation) {
  constexpr std::uint64_t kSeeds = 5'000;
  std::map<std::string, int> ends;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Walk walk{seed};
    walk.play();
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
    ++ends[std::string{name(walk.move().state())}];
    ends["alarms"] += walk.alarms();
  }

  // Each way to end was seen often enough to mean something.
  EXPECT_GT(ends["done"], 1'000);
  EXPECT_GT(ends["aborted"], 1'000);
  EXPECT_GT(ends["alarms"], 50);
}

}  // namespace
}  // namespace sluice::placement
