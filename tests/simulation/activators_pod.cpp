#include "tests/simulation/activators_pod.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::simulation {

namespace {

constexpr std::int32_t kUnlimited = std::numeric_limits<std::int32_t>::max();
constexpr Between kQuiet{std::chrono::milliseconds{100}, std::chrono::seconds{2}};
constexpr Between kRefusing{std::chrono::milliseconds{10}, std::chrono::seconds{1}};

}  // namespace

SimulatedPod::SimulatedPod(Scene& scene, std::uint64_t number, std::int32_t limit)
    : scene_(scene),
      number_(number),
      name_("pod-" + std::to_string(number)),
      dest_("10.1." + std::to_string(number / 250) + "." + std::to_string(number % 250) + ":8012"),
      limit_(limit),
      since_(scene.timeline.now()),
      breaker_({.concurrency = limit > 0 && scene.world.mutant != Mutant::sidecar_lets_all_in
                                   ? limit
                                   : kUnlimited,
                .queue_depth = scene.world.sidecar_depth}),
      stats_(scene.timeline.now()) {}

void SimulatedPod::set_health(PodHealth health) {
  health_ = health;
  since_ = scene_.timeline.now();
  if (on_health) on_health();
  for (const auto& action : std::exchange(awaiting_, {})) action();
}

void SimulatedPod::become_ready() {
  if (health_ == PodHealth::starting) set_health(PodHealth::ready);
}

void SimulatedPod::drain() {
  if (health_ == PodHealth::gone || health_ == PodHealth::draining) return;
  set_health(PodHealth::draining);
  const Duration quiet = scene_.timeline.draw(kQuiet);
  scene_.timeline.after(quiet, [this] {
    refuses_ = true;
    scene_.timeline.after(scene_.timeline.draw(kRefusing), [this] { leave_if_drained(); });
  });
}

void SimulatedPod::leave_if_drained() {
  if (gone()) return;
  if (!held_.empty()) {
    return scene_.timeline.after(std::chrono::milliseconds{20}, [this] { leave_if_drained(); });
  }
  set_health(PodHealth::gone);
  if (on_gone) on_gone();
}

void SimulatedPod::kill() {
  if (gone()) return;
  set_health(PodHealth::gone);
  for (auto& [request, held] : std::exchange(held_, {})) {
    if (held.run != 0) scene_.ledger.done(request, number_, false);
    scene_.ledger.killed(request);
    held.reply(PodAnswer::broken);
  }
  if (on_gone) on_gone();
}

void SimulatedPod::take(Ledger::Request request, Reply reply) {
  if (refuses_) return reply(PodAnswer::draining);
  const breaker::Entered entered = breaker_.enter(scene_.timeline.now());
  if (entered.entry == breaker::Entry::refused) return reply(PodAnswer::full);
  stats_.proxied_in(scene_.timeline.now());
  Held& held = held_[request];
  held.reply = std::move(reply);
  if (entered.entry == breaker::Entry::queued) {
    held.ticket = entered.ticket;
  } else {
    begin(request);
  }
}

void SimulatedPod::begin(Ledger::Request request) {
  Held& held = held_.at(request);
  held.ticket.reset();
  held.run = ++runs_;
  scene_.ledger.began(request, number_, limit_);
  scene_.timeline.after(scene_.timeline.draw(scene_.world.service),
                        [this, request, run = runs_] { finish(request, run); });
}

void SimulatedPod::finish(Ledger::Request request, std::uint64_t run) {
  const auto held = held_.find(request);
  if (held == held_.end() || held->second.run != run) return;  // killed or given up
  const Reply reply = std::move(held->second.reply);
  held_.erase(held);
  scene_.ledger.done(request, number_, true);
  stats_.proxied_out(scene_.timeline.now());
  reply(PodAnswer::answered);
  if (scene_.world.mutant == Mutant::answers_twice) reply(PodAnswer::answered);
  let_next_in();
}

void SimulatedPod::let_next_in() {
  const std::optional<breaker::Ticket> next = breaker_.leave();
  if (!next) return;
  const auto waiter = std::find_if(
      held_.begin(), held_.end(), [&next](const auto& held) { return held.second.ticket == next; });
  begin(waiter->first);
}

void SimulatedPod::abort(Ledger::Request request) {
  const auto held = held_.find(request);
  if (held == held_.end()) return;
  const Held was = std::move(held->second);
  held_.erase(held);
  stats_.proxied_out(scene_.timeline.now());
  if (was.ticket) {
    (void)breaker_.cancel(*was.ticket);
    return;
  }
  scene_.ledger.done(request, number_, false);
  let_next_in();
}

load::LoadReport SimulatedPod::report() {
  return stats_.report(scene_.timeline.now());
}

}  // namespace sluice::simulation
