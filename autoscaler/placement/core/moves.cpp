#include "autoscaler/placement/core/moves.h"

#include "common/base/check.h"

#include <algorithm>

namespace sluice::placement {
namespace {

// "12 s"
std::string rest(TimePoint until, TimePoint now) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(until - now).count()) + " s";
}

}  // namespace

bool Moves::pending(ServiceId service) const {
  return find(service) != nullptr ||
         std::any_of(waiting_.begin(), waiting_.end(),
                     [service](const Waiting& each) { return each.wish.service == service; });
}

std::string Moves::refusal(const Wish& wish, TimePoint now) const {
  const std::string& service = wish.spec.service;
  if (waiting_.size() >= kWaitingMax) return "too many moves wait";
  if (wish.from == wish.to) return service + " is at " + wish.spec.to + " already";
  if (wish.spec.cause == MoveCause::hand) return {};
  if (pending(wish.service)) return service + " is being moved";
  const std::string pause = pause_words(wish.service, wish.to, wish.spec.to, now);
  if (!pause.empty()) return service + ' ' + pause;
  if (wish.spec.cause == MoveCause::drain) return {};
  if (const auto until = cooling_until(wish.service, now)) {
    return service + " was moved, and may be again in " + rest(*until, now);
  }
  return {};
}

std::optional<MoveId> Moves::add(Wish wish, TimePoint now) {
  if (!refusal(wish, now).empty()) return std::nullopt;
  const MoveId id = next_id();
  ++next_id_;
  wish.spec.id = id;
  waiting_.push_back({.wish = std::move(wish), .since = now});
  return id;
}

bool Moves::may_begin(const Wish& wish) const {
  if (running_.size() >= static_cast<std::size_t>(limits_.running_max)) return false;
  if (of_service_.contains(wish.service)) return false;
  const std::int32_t leaving = this->leaving(wish.from);
  if (wish.spec.cause == MoveCause::drain && leaving > 0 &&
      leaving + wish.replicas > limits_.drain_batch) {
    return false;
  }
  if (!wish.loads) return true;
  const auto loading = std::count_if(running_.begin(), running_.end(), [&wish](const auto& each) {
    const Running& other = each.second;
    return other.wish.loads && other.wish.to == wish.to && other.move.state() < MoveState::shifting;
  });
  return loading < limits_.loading_max;
}

std::vector<MoveId> Moves::begin_due(TimePoint now, const std::function<void(Wish&)>& look) {
  std::vector<MoveId> begun;
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (!may_begin(waiting->wish)) {
      ++waiting;
      continue;
    }
    if (look) look(waiting->wish);
    if (waiting->wish.from == waiting->wish.to) {
      MoveRecord record = record_of(*waiting);
      record.state = MoveState::done;
      record.end = MoveEnd::done;
      record.ended = now;
      keep(record);
      waiting = waiting_.erase(waiting);
      continue;
    }
    const MoveId id = waiting->wish.spec.id;
    waiting->wish.spec.shift_hold = limits_.shift_hold;
    Move move{waiting->wish.spec, now};
    of_service_[waiting->wish.service] = id;
    running_.emplace(id, Running{std::move(waiting->wish), std::move(move)});
    waiting = waiting_.erase(waiting);
    begun.push_back(id);
  }
  return begun;
}

const Move* Moves::find(ServiceId service) const {
  const auto found = of_service_.find(service);
  return found == of_service_.end() ? nullptr : &running_.at(found->second).move;
}

const MoveOrders& Moves::step(MoveId id, const MoveView& view, TimePoint now) {
  const auto found = running_.find(id);
  CHECK(found != running_.end());
  const MoveOrders& orders = found->second.move.step(view, now);
  if (!found->second.move.over()) return orders;
  last_orders_ = orders;
  end(found, now);
  return last_orders_;
}

void Moves::end(std::map<MoveId, Running>::iterator ended, TimePoint now) {
  const Wish& wish = ended->second.wish;
  const MoveRecord& record = ended->second.move.record();
  std::erase_if(cooling_, [now](const auto& each) { return each.second <= now; });
  std::erase_if(cooling_pairs_, [now](const auto& each) { return each.second <= now; });
  switch (record.end) {
    case MoveEnd::done:
      if (!record.asleep) cooling_[wish.service] = now + limits_.service_pause;
      break;
    case MoveEnd::no_room:
    case MoveEnd::start_failed:
    case MoveEnd::shift_failed:
      cooling_pairs_[{wish.service, wish.to}] = now + limits_.pair_pause;
      break;
    case MoveEnd::none:
    case MoveEnd::withdrawn:
      break;
  }
  keep(record);
  of_service_.erase(wish.service);
  running_.erase(ended);
}

void Moves::keep(const MoveRecord& record) {
  over_.push_front(record);
  if (over_.size() > kRecordsMax) over_.pop_back();
}

MoveRecord Moves::record_of(const Waiting& waiting) {
  const MoveSpec& spec = waiting.wish.spec;
  return {.id = spec.id,
          .service = spec.service,
          .from = spec.from,
          .to = spec.to,
          .cause = spec.cause,
          .began = waiting.since};
}

std::vector<MoveId> Moves::running() const {
  std::vector<MoveId> ids;
  ids.reserve(running_.size());
  for (const auto& [id, running] : running_) ids.push_back(id);
  return ids;
}

std::vector<Moves::Wish> Moves::withdraw(ServiceId demand) {
  std::vector<Wish> dropped;
  std::erase_if(waiting_, [demand, &dropped](Waiting& each) {
    if (each.wish.spec.held_for != demand) return false;
    dropped.push_back(std::move(each.wish));
    return true;
  });
  for (auto& [id, running] : running_) {
    if (running.wish.spec.held_for == demand) running.move.withdraw();
  }
  return dropped;
}

bool Moves::makes_room_for(ServiceId demand) const {
  const auto is_for = [demand](const Wish& wish) { return wish.spec.held_for == demand; };
  return std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Waiting& each) { return is_for(each.wish); }) ||
         std::any_of(running_.begin(), running_.end(),
                     [&](const auto& each) { return is_for(each.second.wish); });
}

std::int64_t Moves::to_start(const std::function<std::int32_t(MoveId)>& reserved) const {
  std::int64_t replicas = 0;
  const auto add = [&](const Wish& wish) {
    replicas += std::max(0, wish.replicas - reserved(wish.spec.id));
  };
  for (const Waiting& each : waiting_) add(each.wish);
  for (const auto& [id, running] : running_) {
    if (running.move.state() == MoveState::planned) add(running.wish);
  }
  return replicas;
}

std::int32_t Moves::leaving(PlaceId from) const {
  std::int32_t replicas = 0;
  for (const auto& [id, running] : running_) {
    if (running.wish.from == from) replicas += running.wish.replicas;
  }
  return replicas;
}

std::optional<TimePoint> Moves::cooling_until(ServiceId service, TimePoint now) const {
  const auto found = cooling_.find(service);
  if (found == cooling_.end() || found->second <= now) return std::nullopt;
  return found->second;
}

std::optional<TimePoint> Moves::cooling_until(ServiceId service, PlaceId to, TimePoint now) const {
  const auto found = cooling_pairs_.find({service, to});
  if (found == cooling_pairs_.end() || found->second <= now) return std::nullopt;
  return found->second;
}

std::string Moves::pause_words(ServiceId service, PlaceId to, const std::string& name,
                               TimePoint now) const {
  const auto until = cooling_until(service, to, now);
  if (!until) return {};
  return "could not be moved to " + name + ", which is tried again in " + rest(*until, now);
}

void Moves::forget(ServiceId service) {
  cooling_.erase(service);
  std::erase_if(cooling_pairs_,
                [service](const auto& each) { return each.first.first == service; });
}

std::vector<MoveRecord> Moves::records() const {
  std::vector<MoveRecord> records;
  records.reserve(waiting_.size() + running_.size() + over_.size());
  for (auto waiting = waiting_.rbegin(); waiting != waiting_.rend(); ++waiting) {
    records.push_back(record_of(*waiting));
  }
  for (auto running = running_.rbegin(); running != running_.rend(); ++running) {
    records.push_back(running->second.move.record());
  }
  records.insert(records.end(), over_.begin(), over_.end());
  return records;
}

}  // namespace sluice::placement
