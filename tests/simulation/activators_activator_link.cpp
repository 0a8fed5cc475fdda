// The half of an activator that speaks with the autoscaler and watches its own clock.
#include "tests/simulation/activators_activator.h"

#include <algorithm>
#include <utility>

namespace sluice::simulation {

namespace {

using std::chrono::seconds;

constexpr Between kBackOff{std::chrono::milliseconds{50}, std::chrono::milliseconds{1'500}};

proto::StatMessage message_of(const activator::RevisionStat& stat, const std::string& name) {
  proto::StatMessage message{stat.revision, {}};
  message.stat.pod_name = name;
  message.stat.average_concurrent_requests = stat.average_concurrent_requests;
  message.stat.request_count = stat.request_count;
  return message;
}

// How many may wait: fewer while less is granted than desired (activator.md 14.3).
std::int32_t depth_for(const ActivatorsWorld& world, const proto::RevisionState& state) {
  if (state.granted >= state.desired) return world.queue_depth;
  const std::int32_t per_pod = world.container_concurrency > 0 ? world.container_concurrency : 100;
  return std::min(world.queue_depth, std::max(100, 10 * std::max(state.granted, 0) * per_pod));
}

}  // namespace

void ActivatorProgram::dial() {
  if (!alive_) return;
  wire_ = dial_(*this);
  if (wire_ == nullptr) {
    return scene_.timeline.after(scene_.timeline.draw(kBackOff), [this] { this->dial(); });
  }
  if (scene_.world.websocket) return;
  link_.connected(stream_, waiting_now());
  wire_->pump_up();
}

void ActivatorProgram::lost(Wire& wire) {
  if (!alive_ || wire_ != &wire) return;
  wire_ = nullptr;
  link_.lost(stream_);
  scene_.timeline.after(scene_.timeline.draw(kBackOff), [this] { this->dial(); });
}

bool ActivatorProgram::linked() const {
  if (wire_ == nullptr || !wire_->sound()) return false;
  return scene_.world.websocket || link_.welcomed() > 0;
}

std::vector<proto::Waiting> ActivatorProgram::waiting_now() const {
  std::vector<proto::Waiting> all;
  for (const auto& door : doors_) {
    const std::int32_t held = door->throttler.waiting();
    if (held == 0) continue;
    const Duration age = now() - door->throttler.oldest_waiting().value_or(now());
    all.push_back({.revision = Platform::id(door->revision),
                   .requests = static_cast<std::uint32_t>(held),
                   .oldest = std::max(age, Duration{0})});
  }
  return all;
}

void ActivatorProgram::tick() {
  if (!alive_) return;
  scene_.timeline.after(seconds{1}, [this] { tick(); });
  std::vector<activator::RevisionStat> stats;
  reporter_.report(now(), stats);
  if (scene_.world.websocket) {
    std::vector<proto::StatMessage> batch;
    for (const auto& stat : stats) batch.push_back(message_of(stat, identity_.name));
    if (wire_ != nullptr && !batch.empty()) wire_->send(batch);
    return;
  }
  link_.tick(stats, waiting_now(), now());
  if (wire_ != nullptr) wire_->pump_up();
}

void ActivatorProgram::poke(Door& door) {
  const activator::RevisionStat stat = reporter_.poke(door.handle);
  if (scene_.world.websocket) {
    if (wire_ != nullptr) wire_->send({message_of(stat, identity_.name)});
    return;
  }
  const std::int32_t held = std::max(door.throttler.waiting(), 1);
  link_.poke(
      stat, {.revision = Platform::id(door.revision), .requests = static_cast<std::uint32_t>(held)},
      now());
  if (wire_ != nullptr) wire_->pump_up();
}

std::optional<proto::ActivatorMessage> ActivatorProgram::next_message() {
  if (!alive_ || scene_.world.websocket) return std::nullopt;
  return link_.next_message(stream_);
}

void ActivatorProgram::received(proto::AutoscalerMessage message) {
  if (!alive_) return;
  const activator::AutoscalerLink::Heard heard = link_.received(stream_, std::move(message));
  for (const proto::RevisionState& state : heard.states) {
    scene_.watch.in_force(run_name(), state.revision, state.version);
    put_in_force(state);
    link_.applied(state.revision, state.version);
  }
  for (const RevisionId& gone : heard.gone) put_in_force({.revision = gone});
  if (heard.refused && wire_ != nullptr) {
    Wire& refused = *wire_;
    refused.close_by_activator();
    lost(refused);
    return;
  }
  if (wire_ != nullptr) wire_->pump_up();
}

void ActivatorProgram::put_in_force(const proto::RevisionState& state) {
  for (const auto& door : doors_) {
    if (Platform::id(door->revision) != state.revision) continue;
    door->avoid = {state.avoid.begin(), state.avoid.end()};
    scene_.ledger.set_depth(door->book, depth_for(scene_.world, state),
                            state.cannot_scale.has_value() && state.granted <= 0);
    set_grant(*door, {.desired = std::max(state.desired, 0),
                      .granted = std::max(state.granted, 0),
                      .cannot_scale = state.cannot_scale.has_value()});
    relist(*door);
  }
}

void ActivatorProgram::set_grant(Door& door, const activator::Grant& grant) {
  std::vector<activator::Dismissal> dismissed;
  door.throttler.set_grant(grant, dismissed);
  for (const activator::Dismissal& one : dismissed) {
    end(one.cookie, Ending::refused, Reason::cannot_scale);
  }
}

// What is due at this door now, and the alarm for what is due next.
void ActivatorProgram::look(Door& door) {
  while (const auto expired = door.throttler.expire(now())) {
    // The mutant has told tickets and requests apart.
    const auto call = std::find_if(calls_.begin(), calls_.end(), [&](const auto& each) {
      return each.second.door == &door && each.second.ticket == expired->ticket;
    });
    if (call != calls_.end()) end(call->first, Ending::refused, Reason::queue_wait);
  }
  std::vector<activator::Admission> admitted;
  door.throttler.resume(now(), admitted);
  admit(door, admitted);
  arm(door);
}

void ActivatorProgram::arm(Door& door) {
  std::optional<TimePoint> due = door.throttler.next_expiry();
  const std::optional<TimePoint> resume = door.throttler.next_resume();
  if (resume && (!due || *resume < *due)) due = resume;
  if (!due) return;
  const TimePoint at = scene_.timeline.now() + std::max(*due - now(), Duration{0});
  if (door.alarm && *door.alarm <= at) return;
  door.alarm = at;
  scene_.timeline.after(at - scene_.timeline.now(), [this, at, &door] {
    if (door.alarm != at) return;
    door.alarm.reset();
    look(door);
  });
}

}  // namespace sluice::simulation
