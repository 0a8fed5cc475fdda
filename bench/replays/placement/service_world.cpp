#include "bench/replays/placement/service_world.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::replay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How long a process takes to end once it was asked to.
constexpr Duration kEnds = milliseconds{150};

// A replica that does not become ready, or does not end, is looked at again after this.
constexpr Duration kAgain = seconds{1};

// Streams of random numbers of one service; a change of policy changes the platform's alone.
enum Stream : std::uint64_t { arrivals = 1, answers, platform };

std::mt19937_64 stream(std::uint64_t seed, Stream of) {
  constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15U;
  return std::mt19937_64{seed * kSpread + of};
}

Duration exponential(std::mt19937_64& random, double mean_seconds) {
  return from_seconds(std::exponential_distribution{1 / mean_seconds}(random));
}

}  // namespace

ServiceWorld::ServiceWorld(Timeline& timeline, Link& link, const ServiceSpec& spec)
    : timeline_{timeline},
      link_{link},
      spec_{spec},
      arrivals_{stream(spec.seed, Stream::arrivals)},
      answers_random_{stream(spec.seed, Stream::answers)},
      platform_random_{stream(spec.seed, Stream::platform)},
      wanted_{spec.replicas + spec.replicas_to} {
  at(Side::from).free = spec.replicas + spec.room_from;
  at(Side::to).free = spec.replicas_to + spec.room_to;
  for (std::int32_t i = 0; i < wanted_; ++i) {
    make_pod(i < spec.replicas ? Side::from : Side::to);
    pods_.back().ready = true;
    pods_.back().avoided.fill(false);
  }
}

void ServiceWorld::set_rate(double rate) {
  spec_.rate = rate;
  ++rate_turn_;
  if (rate > 0) {
    timeline_.after(exponential(arrivals_, 1 / rate), [this, turn = rate_turn_] {
      if (turn == rate_turn_) arrive();
    });
  }
}

Duration ServiceWorld::shaken(Duration usual) {
  constexpr double kLeast = 0.9;
  constexpr double kMost = 1.1;
  return from_seconds(to_seconds(usual) *
                      std::uniform_real_distribution{kLeast, kMost}(platform_random_));
}

ServiceWorld::Pod* ServiceWorld::find(const PodId& id) {
  const auto found =
      std::find_if(pods_.begin(), pods_.end(), [&id](const Pod& pod) { return pod.id == id; });
  return found == pods_.end() ? nullptr : &*found;
}

std::int32_t ServiceWorld::count(Side side) const {
  return static_cast<std::int32_t>(std::count_if(
      pods_.begin(), pods_.end(), [side](const Pod& pod) { return pod.side == side; }));
}

std::int32_t ServiceWorld::living(Side side) const {
  return static_cast<std::int32_t>(
      std::count_if(pods_.begin(), pods_.end(),
                    [side](const Pod& pod) { return pod.side == side && !pod.stopping; }));
}

std::int32_t ServiceWorld::able(Side side) const {
  return static_cast<std::int32_t>(
      std::count_if(pods_.begin(), pods_.end(),
                    [this, side](const Pod& pod) { return pod.side == side && able(pod); }));
}

std::int32_t ServiceWorld::serving(Side side) const {
  return static_cast<std::int32_t>(
      std::count_if(pods_.begin(), pods_.end(), [this, side](const Pod& pod) {
        return pod.side == side && able(pod) && !ordered_avoid_.contains(pod.id.name);
      }));
}

// --- requests ---

void ServiceWorld::arrive() {
  ++outcomes_.arrived;
  const std::size_t door = std::uniform_int_distribution<std::size_t>{0, kDoors - 1}(arrivals_);
  waiting_.push_back({.arrived = timeline_.now(), .door = door});
  dispatch();
  set_rate(spec_.rate);
}

void ServiceWorld::dispatch() {
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    Pod* const pod = choose(request->door);
    if (pod == nullptr) {
      ++request;
      continue;
    }
    send(*request, *pod);
    request = waiting_.erase(request);
  }
}

// The least loaded of those that are not avoided; while there are none, of the others.
ServiceWorld::Pod* ServiceWorld::choose(std::size_t door) {
  const bool any = std::any_of(pods_.begin(), pods_.end(), [this, door](const Pod& pod) {
    return able(pod) && !pod.avoided[door];
  });
  outcomes_.exposed += std::count_if(pods_.begin(), pods_.end(), [this, door](const Pod& pod) {
    return pod.stopping && !pod.avoided[door] && at(pod.side).there;
  });
  std::vector<Pod*> least;
  for (Pod& pod : pods_) {
    if (!able(pod) || (any && pod.avoided[door]) || pod.in_flight >= spec_.concurrency) continue;
    if (!least.empty() && pod.in_flight > least.front()->in_flight) continue;
    if (!least.empty() && pod.in_flight < least.front()->in_flight) least.clear();
    least.push_back(&pod);
  }
  if (least.empty()) return nullptr;
  return least[std::uniform_int_distribution<std::size_t>{0, least.size() - 1}(platform_random_)];
}

void ServiceWorld::send(const Request& request, Pod& pod) {
  ++pod.in_flight;
  Duration takes = exponential(answers_random_, to_seconds(spec_.answer));
  if (!std::exchange(pod.asked, true)) takes += spec_.first;
  timeline_.after(takes,
                  [this, id = pod.id, life = pod.life, request] { answer(id, life, request); });
}

void ServiceWorld::answer(const PodId& id, std::uint64_t life, const Request& request) {
  Pod* const pod = find(id);
  if (pod == nullptr || pod->life != life) return;
  --pod->in_flight;
  Seat& seat = at(pod->side);
  ++seat.tally.requests;
  if (seat.failing) {
    ++seat.tally.failed;
    ++outcomes_.failed;
  } else {
    ++outcomes_.served;
    answers_.push_back({.at = timeline_.now(), .took = timeline_.now() - request.arrived});
  }
  dispatch();
}

void ServiceWorld::break_off(Pod& pod, bool by_order) {
  placement::Tally& tally = at(pod.side).tally;
  tally.requests += pod.in_flight;
  tally.failed += pod.in_flight;
  if (by_order) tally.cut += pod.in_flight;
  (by_order ? outcomes_.cut : outcomes_.broken) += pod.in_flight;
  pod.in_flight = 0;
  ++pod.life;
}

// --- the platform ---

void ServiceWorld::make_pod(Side side) {
  const std::int32_t number = ++made_;
  Seat& seat = at(side);
  if (side == Side::to && reserved_ > 0) {
    --reserved_;
  } else {
    --seat.free;
  }
  Pod pod;
  pod.id = {spec_.name + '-' + std::to_string(number)};
  pod.number = number;
  pod.side = side;
  pod.avoided.fill(side == Side::to);
  pods_.push_back(std::move(pod));
}

void ServiceWorld::make_pods(Side side, std::int32_t wanted) {
  while (at(side).there && living(side) < wanted) {
    const std::int32_t room = at(side).free + (side == Side::to ? reserved_ : 0);
    if (room <= 0) return;
    make_pod(side);
    const PodId id = pods_.back().id;
    if (side == Side::from || spec_.image_bytes <= 0) {
      start_pod(id);
      continue;
    }
    pods_.back().loading = true;
    link_.load(spec_.image_bytes, [this, id] { start_pod(id); });
  }
}

void ServiceWorld::start_pod(const PodId& id) {
  Pod* const pod = find(id);
  if (pod == nullptr) return;
  pod->loading = false;
  if (pod->side == Side::to && !loaded_at_) loaded_at_ = timeline_.now();
  timeline_.after(shaken(spec_.start), [this, id] { finish_start(id); });
}

void ServiceWorld::finish_start(const PodId& id) {
  Pod* const pod = find(id);
  if (pod == nullptr || pod->stopping) return;
  pod->failed = pod->side == Side::to && unstartable_;
  if (pod->failed || (pod->side == Side::to && unready_)) {
    timeline_.after(kAgain, [this, id] { finish_start(id); });
    return;
  }
  pod->ready = true;
  if (pod->side == Side::to) ready_at_ = timeline_.now();
  dispatch();
}

void ServiceWorld::stop_pod(Pod& pod) {
  if (std::exchange(pod.stopping, true)) return;
  timeline_.after(shaken(kEnds), [this, id = pod.id] { end_pod(id, true); });
}

void ServiceWorld::end_pod(const PodId& id, bool by_order) {
  const auto pod =
      std::find_if(pods_.begin(), pods_.end(), [&id](const Pod& each) { return each.id == id; });
  if (pod == pods_.end()) return;
  if (by_order && at(pod->side).stuck) {
    timeline_.after(kAgain, [this, id] { end_pod(id, true); });
    return;
  }
  break_off(*pod, by_order);
  // What leaves `from` by order leaves its room to the demand that the move is for.
  if (!by_order || pod->side == Side::to) ++at(pod->side).free;
  pods_.erase(pod);
  dispatch();
}

// --- orders ---

placement::PlaceView ServiceWorld::view_of(Side side) const {
  const Seat& seat = at(side);
  placement::PlaceView view{.there = seat.there, .tally = seat.tally};
  std::vector<const Pod*> pods;
  for (const Pod& pod : pods_) {
    if (pod.side == side) pods.push_back(&pod);
  }
  std::reverse(pods.begin(), pods.end());
  std::stable_sort(pods.begin(), pods.end(), [](const Pod* a, const Pod* b) {
    if (a->ready != b->ready) return b->ready;
    return a->in_flight < b->in_flight;
  });
  for (const Pod* pod : pods) {
    const bool avoided =
        pod->avoid_version > 0 &&
        std::all_of(applied_.begin(), applied_.end(),
                    [pod](std::uint64_t applied) { return applied >= pod->avoid_version; });
    view.replicas.push_back({.id = pod->id,
                             .ready = pod->ready,
                             .reached = pod->ready,
                             .failed = pod->failed,
                             .avoided = avoided,
                             .stopping = pod->stopping,
                             .in_flight = pod->in_flight});
  }
  view.most = count(side) + seat.free + (side == Side::to ? reserved_ : 0);
  return view;
}

placement::MoveView ServiceWorld::view() const {
  placement::MoveView view{.from = view_of(Side::from), .to = view_of(Side::to)};
  view.wanted = wanted_;
  view.reserved = reserved_;
  view.pulling =
      std::any_of(pods_.begin(), pods_.end(), [](const Pod& pod) { return pod.loading; });
  return view;
}

void ServiceWorld::reserve(std::int32_t wanted) {
  Seat& seat = at(Side::to);
  const std::int32_t more = std::min(wanted - reserved_, std::max(0, seat.free));
  reserved_ += more;
  seat.free -= more;
}

void ServiceWorld::apply(const placement::MoveOrders& orders) {
  reserve(orders.reserve);
  make_pods(Side::from, orders.from);
  make_pods(Side::to, orders.to);
  for (const PodId& id : orders.stop) {
    Pod* const pod = find(id);
    if (pod != nullptr && at(pod->side).there) stop_pod(*pod);
  }
  publish(orders);
}

void ServiceWorld::publish(const placement::MoveOrders& orders) {
  std::set<std::string> avoid;
  for (const PodId& id : orders.avoid) avoid.insert(id.name);
  if (avoid == ordered_avoid_) return;
  ordered_avoid_ = avoid;
  const std::uint64_t version = ++version_;
  for (Pod& pod : pods_) {
    if (!avoid.contains(pod.id.name)) {
      pod.avoid_version = 0;
    } else if (pod.avoid_version == 0) {
      pod.avoid_version = version;
    }
  }
  const auto told = std::make_shared<const std::set<std::string>>(std::move(avoid));
  for (std::size_t door = 0; door < kDoors; ++door) {
    timeline_.after(shaken(door_delay_), [this, door, version, told, made = made_] {
      if (applied_[door] > version) return;
      applied_[door] = version;
      for (Pod& pod : pods_) {
        if (pod.number <= made) pod.avoided[door] = told->contains(pod.id.name);
      }
      dispatch();
    });
  }
}

// --- faults ---

void ServiceWorld::crash(Side side) {
  const auto pod = std::find_if(pods_.begin(), pods_.end(), [this, side](const Pod& each) {
    return each.side == side && able(each);
  });
  if (pod != pods_.end()) end_pod(pod->id, false);
}

void ServiceWorld::lose(Side side, bool lost) {
  at(side).there = !lost;
  if (!lost) {
    dispatch();
    return;
  }
  for (Pod& pod : pods_) {
    if (pod.side == side) break_off(pod, false);
  }
}

void ServiceWorld::set_failing(Side side, bool fails) {
  at(side).failing = fails;
}

void ServiceWorld::set_stuck(Side side, bool stuck) {
  at(side).stuck = stuck;
}

void ServiceWorld::set_unready(bool unready) {
  unready_ = unready;
}

void ServiceWorld::set_unstartable(bool fails) {
  unstartable_ = fails;
}

void ServiceWorld::set_door_delay(Duration delay) {
  door_delay_ = delay;
}

}  // namespace sluice::replay
