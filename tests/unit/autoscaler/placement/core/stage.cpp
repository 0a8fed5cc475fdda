#include "tests/unit/autoscaler/placement/core/stage.h"

#include <algorithm>
#include <utility>

namespace sluice::placement {
namespace {

MoveSpec named(MoveSpec spec) {
  spec.service = "shop";
  spec.from = "fast";
  spec.to = "slow";
  return spec;
}

}  // namespace

Stage::Stage(std::int32_t from, std::int32_t to, MoveSpec spec)
    : move{named(std::move(spec)), TimePoint{std::chrono::hours{480'000}}} {
  for (std::int32_t i = 0; i < from; ++i) add(false, true);
  for (std::int32_t i = 0; i < to; ++i) add(true, true);
  flags.wanted = from + to;
}

void Stage::add(bool at_to, bool ready) {
  Pod pod{.seen = {.id = {"shop-" + std::to_string(++made_)}, .ready = ready, .reached = ready},
          .at_to = at_to,
          .taking = ready,
          .made = now};
  // The youngest is removed first.
  pods.insert(pods.begin(), std::move(pod));
}

std::int32_t Stage::taking(bool at_to) const {
  return static_cast<std::int32_t>(std::count_if(pods.begin(), pods.end(), [at_to](const Pod& pod) {
    return pod.at_to == at_to && pod.seen.ready && pod.taking;
  }));
}

std::int32_t Stage::count(bool at_to) const {
  return static_cast<std::int32_t>(std::count_if(
      pods.begin(), pods.end(), [at_to](const Pod& pod) { return pod.at_to == at_to; }));
}

void Stage::crash(bool at_to) {
  std::erase_if(pods, [at_to](const Pod& pod) { return pod.at_to == at_to && pod.seen.ready; });
}

void Stage::hold_requests(bool at_to, std::int64_t in_flight) {
  for (Pod& pod : pods) {
    if (pod.at_to == at_to) pod.seen.in_flight = in_flight;
  }
}

void Stage::send_requests() {
  due_ += rate;
  std::vector<Pod*> takers;
  for (Pod& pod : pods) {
    if (pod.seen.ready && pod.taking) takers.push_back(&pod);
  }
  constexpr std::int64_t kTicks = 10;  // a second
  for (; due_ >= kTicks; due_ -= kTicks) {
    if (takers.empty()) continue;
    const bool at_to = takers[turn_++ % takers.size()]->at_to;
    Tally& tally = (at_to ? flags.to : flags.from).tally;
    ++tally.requests;
    tally.failed += (at_to ? fails_to : fails_from) ? 1 : 0;
  }
}

void Stage::advance_pods() {
  for (Pod& pod : pods) {
    if (pod.seen.ready || !starts || now - pod.made < start) continue;
    pod.seen.ready = true;
    pod.seen.reached = true;
  }
  if (ends) {
    std::erase_if(pods, [](const Pod& pod) { return pod.seen.stopping; });
  }
  for (Pod& pod : pods) {
    pod.seen.avoided = acknowledges && !pod.taking;
    pod.seen.stopping = pod.seen.stopping || pod.ordered_to_stop;
  }
}

MoveView Stage::view() const {
  MoveView view = flags;
  view.from.replicas.clear();
  view.to.replicas.clear();
  for (const Pod& pod : pods) (pod.at_to ? view.to : view.from).replicas.push_back(pod.seen);
  view.reserved = reserved_;
  return view;
}

void Stage::obey() {
  reserved_ = std::min(orders_.reserve, room);
  freed += orders_.freed;
  const auto listed = [](const std::vector<PodId>& ids, const PodId& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  std::int32_t from = 0;
  std::int32_t to = 0;
  for (Pod& pod : pods) {
    pod.taking = !listed(orders_.avoid, pod.seen.id);
    pod.ordered_to_stop = pod.ordered_to_stop || listed(orders_.stop, pod.seen.id);
    if (!pod.ordered_to_stop) ++(pod.at_to ? to : from);
  }
  for (; flags.from.there && from < orders_.from; ++from) add(false, false);
  for (; flags.to.there && to < orders_.to; ++to) add(true, false);
}

void Stage::tick() {
  now += kTick;
  advance_pods();
  send_requests();
  const MoveState before = move.state();
  orders_ = move.step(view(), now);
  if (move.state() != before) {
    states_ += (states_.empty() ? "" : " ") + std::string{name(move.state())};
  }
  if (move.state() != MoveState::aborted) obey();
}

void Stage::play(Duration length) {
  for (const TimePoint end = now + length; now < end;) tick();
}

bool Stage::play_until(MoveState state) {
  constexpr Duration kPatience = std::chrono::minutes{10};
  for (const TimePoint end = now + kPatience; now < end && move.state() != state;) tick();
  return move.state() == state;
}

}  // namespace sluice::placement
