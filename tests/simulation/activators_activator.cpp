#include "tests/simulation/activators_activator.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

namespace {

using activator::Admission;
using activator::Entry;
using activator::PodRef;

constexpr Between kDrainQuiet{std::chrono::milliseconds{500}, std::chrono::seconds{4}};

}  // namespace

ActivatorProgram::Door::Door(const ActivatorsWorld& world, std::uint64_t seed)
    : throttler({.container_concurrency = world.container_concurrency,
                 .queue_depth = world.queue_depth,
                 .queue_wait = world.queue_wait,
                 .policy = {},
                 .seed = seed}) {}

ActivatorProgram::ActivatorProgram(Scene& scene, Platform& platform, Identity identity, Dial dial)
    : scene_(scene),
      platform_(platform),
      identity_(std::move(identity)),
      dial_(std::move(dial)),
      started_(scene.timeline.now()),
      one_by_one_(scene.timeline.happens(0.5)),
      budget_({.waiting_max = scene.world.queue_total}),
      link_({.activator = identity_.name, .address = identity_.address, .version = "1"}) {
  stream_ = *link_.add();
  for (std::size_t index = 0; index < platform.revisions(); ++index) {
    doors_.push_back(std::make_unique<Door>(scene.world, scene.world.seed + index));
    Door& door = *doors_.back();
    door.revision = index;
    door.handle = reporter_.open(Platform::id(index));
    door.book = scene.ledger.open_door(scene.world.container_concurrency, scene.world.queue_depth);
    door.prober = std::make_unique<Prober>(
        scene, platform, [this] { return now(); }, [this, &door] { relist(door); },
        [this, &door](const std::string& dest) { trust(door, dest); });
  }
  read_activators();
  for (std::size_t index = 0; index < doors_.size(); ++index) read_pods(index);
  scene_.timeline.after(scene_.timeline.draw({Duration{0}, std::chrono::seconds{1}}),
                        [this] { tick(); });
  scene_.timeline.after(Duration{0}, [this] { this->dial(); });
}

void ActivatorProgram::drain() {
  if (std::exchange(draining_, true)) return;
  scene_.timeline.after(scene_.timeline.draw(kDrainQuiet), [this] {
    accepts_ = false;
    leave_if_drained();
  });
}

void ActivatorProgram::leave_if_drained() {
  if (!calls_.empty()) {
    return scene_.timeline.after(std::chrono::milliseconds{50}, [this] { leave_if_drained(); });
  }
  alive_ = false;
  ++scene_.outcome.activators_gone;
  for (const auto& door : doors_) door->prober->stop();
  if (wire_ != nullptr) std::exchange(wire_, nullptr)->close_by_activator();
}

void ActivatorProgram::jump(Duration by) {
  offset_ += by;
  for (const auto& door : doors_) {
    scene_.ledger.set_clock(door->book, offset_);
    look(*door);
  }
}

// --- files ---

void ActivatorProgram::read_pods(std::size_t revision) {
  if (alive_) doors_[revision]->prober->read(platform_.pods(revision));
}

void ActivatorProgram::read_activators() {
  if (!alive_) return;
  std::vector<std::string> all = platform_.activators();
  std::sort(all.begin(), all.end());
  place_ = activator::place_among(all, identity_.address, place_);
  for (const auto& door : doors_) relist(*door);
}

void ActivatorProgram::relist(Door& door) {
  const std::set<std::string>& usable = door.prober->usable();
  std::map<std::string, bool> wanted;
  for (const std::string& dest : activator::assigned_of({usable.begin(), usable.end()}, place_,
                                                        scene_.world.container_concurrency)) {
    wanted[dest] = door.avoid.contains(dest);
  }
  if (wanted == door.listed) return;
  one_by_one_ ? list_one_by_one(door, wanted) : list_at_once(door, wanted);
  look(door);
}

// The pod at `dest` failed somebody and has passed a probe since: those who tried it may again.
void ActivatorProgram::trust(Door& door, const std::string& dest) {
  if (door.throttler.waiting() == 0 || !door.listed.contains(dest)) return;
  std::map<std::string, bool> wanted = door.listed;
  const bool avoid = wanted.extract(dest).mapped();
  list_one_by_one(door, wanted);
  wanted[dest] = avoid;
  list_one_by_one(door, wanted);
  look(door);
}

void ActivatorProgram::show_list(Door& door) {
  std::vector<Ledger::Listed> list;
  for (const auto& [dest, avoid] : door.listed) list.push_back({dest, avoid});
  scene_.ledger.list(door.book, list);
}

void ActivatorProgram::list_at_once(Door& door, const std::map<std::string, bool>& wanted) {
  door.listed = wanted;
  show_list(door);
  std::vector<activator::PodState> pods;
  for (const auto& [dest, avoid] : wanted) pods.push_back({.id = {dest}, .avoid = avoid});
  std::vector<Admission> admitted;
  door.throttler.set_pods(pods, admitted);
  admit(door, admitted);
}

void ActivatorProgram::list_one_by_one(Door& door, const std::map<std::string, bool>& wanted) {
  std::vector<Admission> admitted;
  for (const auto& [dest, avoid] : std::map<std::string, bool>(door.listed)) {
    if (wanted.contains(dest)) continue;
    door.listed.erase(dest);
    show_list(door);
    (void)door.throttler.remove_pod({dest}, admitted);
    admit(door, std::exchange(admitted, {}));
  }
  for (const auto& [dest, avoid] : wanted) {
    const auto known = door.listed.find(dest);
    if (known != door.listed.end() && known->second == avoid) continue;
    door.listed[dest] = avoid;
    show_list(door);
    door.throttler.update_pod({.id = {dest}, .avoid = avoid}, admitted);
    admit(door, std::exchange(admitted, {}));
  }
}

// --- requests ---

void ActivatorProgram::arrive(std::size_t revision) {
  Door& door = *doors_[revision];
  const Ledger::Request request = scene_.ledger.arrived(door.book);
  Call& call = calls_[request];
  call.door = &door;
  call.since = now();
  call.deadline = now() + scene_.world.timeout;
  call.body = scene_.timeline.happens(scene_.world.share_with_body);
  scene_.timeline.after(scene_.world.timeout,
                        [this, request] { give_up(request, Ending::refused, Reason::timeout); });
  if (scene_.strikes(scene_.world.faults.share_leaving_clients)) {
    const Between patience{Duration{0}, std::chrono::seconds{4}};
    scene_.timeline.after(scene_.timeline.draw(patience),
                          [this, request] { give_up(request, Ending::left, Reason::none); });
  }
  const bool first = reporter_.in(door.handle, now());
  enter(request, call);
  if (first) poke(door);
  look(door);
}

void ActivatorProgram::enter(Ledger::Request request, Call& call) {
  Door& door = *call.door;
  const activator::Entered entered = door.throttler.enter(
      {.cookie = request, .since = call.since, .deadline = call.deadline, .tried = call.tried},
      now());
  if (entered.entry == Entry::admitted) return send(request, call, entered.pod);
  if (entered.entry == Entry::queued) {
    scene_.ledger.waits(request);
    if (budget_.wait(door.share)) {
      call.ticket = entered.ticket;
      return;
    }
    (void)door.throttler.cancel(entered.ticket);
    return end(request, Ending::refused, Reason::queues_full);
  }
  switch (entered.error) {
    case Error::queue_full:
      return end(request, Ending::refused, Reason::queue_full);
    case Error::queue_wait:
      return end(request, Ending::refused, Reason::queue_wait);
    case Error::cannot_scale:
      return end(request, Ending::refused, Reason::cannot_scale);
    default:
      return end(request, Ending::refused, Reason::none);
  }
}

void ActivatorProgram::admit(Door& door, const std::vector<Admission>& admitted) {
  for (const Admission& one : admitted) {
    auto call = calls_.find(one.cookie);
    if (scene_.world.mutant == Mutant::serves_newest_first) {
      const auto holder = std::find_if(calls_.begin(), calls_.end(), [&](const auto& each) {
        return each.second.door == &door && each.second.ticket == one.ticket;
      });
      const auto newest = std::find_if(calls_.rbegin(), calls_.rend(), [&door](const auto& each) {
        return each.second.door == &door && each.second.ticket;
      });
      call = calls_.find(newest->first);
      std::swap(holder->second.ticket, call->second.ticket);
    }
    call->second.ticket.reset();
    budget_.leave(door.share);
    send(call->first, call->second, one.pod);
  }
}

void ActivatorProgram::send(Ledger::Request request, Call& call, PodRef pod) {
  call.pod = pod;
  call.dest = call.door->throttler.pod_id(pod).name;
  ++call.attempt;
  scene_.ledger.admitted(request, call.dest);
  if (scene_.world.mutant == Mutant::loses_an_admission && scene_.timeline.happens(0.02)) {
    call.attempt = kLost;
    return;
  }
  scene_.timeline.after(scene_.timeline.draw(scene_.world.travel),
                        [this, request, attempt = call.attempt] { reach_pod(request, attempt); });
}

void ActivatorProgram::reach_pod(Ledger::Request request, std::uint64_t attempt) {
  const auto found = calls_.find(request);
  if (found == calls_.end() || found->second.attempt != attempt) return;  // given up
  Call& call = found->second;
  SimulatedPod* const pod = platform_.at(call.dest);
  const Duration back = scene_.timeline.draw(scene_.world.travel);
  const bool refused = pod == nullptr || pod->gone() || pod->health() == PodHealth::starting ||
                       scene_.strikes(scene_.world.faults.share_refused_connects);
  if (refused) {
    return scene_.timeline.after(back, [this, request, attempt] {
      const auto still = calls_.find(request);
      if (still == calls_.end() || still->second.attempt != attempt) return;
      still->second.door->prober->suspect(still->second.dest);
      turned_away(request, Reason::unreachable);
    });
  }
  if (call.body) scene_.ledger.body_sent(request);
  pod->take(request, [this, request, attempt](PodAnswer answer) {
    scene_.timeline.after(scene_.timeline.draw(scene_.world.travel),
                          [this, request, attempt, answer] { answered(request, attempt, answer); });
  });
}

void ActivatorProgram::answered(Ledger::Request request, std::uint64_t attempt, PodAnswer answer) {
  const bool twice = scene_.world.mutant == Mutant::answers_twice;
  const auto found = calls_.find(request);
  if (found == calls_.end() || found->second.attempt != attempt) {
    // A real one is not listened to any more; the mutant has told its client again.
    if (twice) scene_.ledger.ended(request, Ending::answered);
    return;
  }
  switch (answer) {
    case PodAnswer::answered:
      return end(request, Ending::answered);
    case PodAnswer::full:
      return turned_away(request, Reason::pod_full);
    case PodAnswer::draining:
      found->second.door->prober->suspect(found->second.dest);
      return turned_away(request, Reason::pod_draining);
    case PodAnswer::broken:
      if (scene_.world.mutant == Mutant::retries_begun) {
        return turned_away(request, Reason::unreachable);
      }
      return end(request, Ending::cut);
  }
}

// The pod did not touch it: it goes elsewhere, unless that was tried often enough or a byte of its
// body is gone (activator.md 14.5).
void ActivatorProgram::turned_away(Ledger::Request request, Reason reason) {
  Call& call = calls_.at(request);
  const bool full = reason == Reason::pod_full;
  if (full) scene_.ledger.full(request, now() + activator::Throttler::kFullPause);
  const bool body_gone = call.body && reason != Reason::unreachable;
  // Waiting for the same pod would hide its refusal: its own queue has been waited in already.
  const bool only_one = full && call.door->throttler.pods() <= call.tried.size() + 1;
  if (body_gone || only_one ||
      call.tried.size() + 1 >= static_cast<std::size_t>(Ledger::kAttemptsMax)) {
    return end(request, Ending::refused, reason);
  }
  Door& door = *call.door;
  scene_.ledger.retried(request);
  call.tried.push_back(call.pod);
  call.dest.clear();
  leave(door, call.pod, full);
  enter(request, call);
  look(door);
}

void ActivatorProgram::give_up(Ledger::Request request, Ending ending, Reason reason) {
  const auto found = calls_.find(request);
  if (found == calls_.end() || found->second.attempt == kLost) return;
  if (const std::string dest = found->second.dest; !dest.empty()) {
    scene_.timeline.after(scene_.timeline.draw(scene_.world.travel), [this, dest, request] {
      if (SimulatedPod* const pod = platform_.at(dest); pod != nullptr) pod->abort(request);
    });
  }
  end(request, ending, reason);
}

void ActivatorProgram::end(Ledger::Request request, Ending ending, Reason reason) {
  const auto found = calls_.find(request);
  stop_waiting(found->second);
  const Call call = std::move(found->second);
  calls_.erase(found);
  scene_.ledger.ended(request, ending, reason);
  reporter_.out(call.door->handle, now());
  if (!call.dest.empty()) leave(*call.door, call.pod, reason == Reason::pod_full);
  look(*call.door);
}

void ActivatorProgram::stop_waiting(Call& call) {
  if (!call.ticket) return;
  (void)call.door->throttler.cancel(*call.ticket);
  call.ticket.reset();
  budget_.leave(call.door->share);
}

void ActivatorProgram::leave(Door& door, PodRef pod, bool full) {
  if (scene_.world.mutant == Mutant::forgets_to_leave && !full) {
    return scene_.timeline.after(std::chrono::milliseconds{500}, [this, &door, pod] {
      std::vector<Admission> late;
      door.throttler.leave(pod, late);
      admit(door, late);
    });
  }
  std::vector<Admission> admitted;
  if (full) {
    door.throttler.leave_full(pod, now() + activator::Throttler::kFullPause, admitted);
  } else {
    door.throttler.leave(pod, admitted);
  }
  admit(door, admitted);
}

std::int64_t ActivatorProgram::in_flight() const {
  std::int64_t sum = 0;
  for (const auto& door : doors_) sum += door->throttler.in_flight();
  return sum;
}

}  // namespace sluice::simulation
