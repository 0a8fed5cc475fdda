// A revision of processes under the memory rules: what it is granted, which of its replicas are
// held back, which have to go, and what they use.

#include "autoscaler/placement/core/words.h"

#include <fmt/format.h>

#include "platform/process/process_revision.h"
#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sluice::local {

namespace {

/// How long requests wait for memory before they are refused. Time for idle replicas of others to
/// drain; what takes longer is not worth waiting for.
constexpr Duration kPatience = std::chrono::seconds{5};
/// What a sacrificed replica may still answer, unless memory runs out within the second.
constexpr Duration kLastAnswers = std::chrono::seconds{2};

/// A claim is news when it differs by more than this part of what was reported.
constexpr std::int64_t kClaimShare = 8;

Duration patience(const ServiceSpec& spec) {
  Duration most = std::min<Duration>(kPatience, spec.timeout / 2);
  if (spec.response_start_timeout.count() > 0) {
    most = std::min<Duration>(most, spec.response_start_timeout / 2);
  }
  return most;
}

}  // namespace

std::vector<TenantReplica> ProcessRevision::replicas() const {
  std::vector<TenantReplica> list;
  for (const auto& instance : instances_) {
    const Replica& replica = *instance->replica;
    if (replica.app_pid() <= 0 || instance->ended) continue;
    list.push_back({.id = replica.id(),
                    .pid = replica.app_pid(),
                    .started = replica.times().executed.value_or(means_.loop.now()),
                    .ready = instance->ready_at.has_value(),
                    .leaving = instance->leaving || stopped_,
                    .busy = has_request(*instance),
                    .sent = means_.requests.sent_to(id(), {replica.id()}),
                    .holdable = is_holdable(*instance),
                    .held = instance->held});
    if (!spec().image.empty()) list.back().container_bytes = replica.memory_bytes();
  }
  return list;
}

// What the load needs, and never less than what is busy.
std::int32_t ProcessRevision::needed(const placement::RevisionDemand& demand) const {
  std::int32_t busy = means_.requests.waiting(id()) > 0 ? 1 : 0;
  for (const auto& instance : instances_) {
    if (!instance->lives()) continue;
    if (!instance->ready_at || means_.requests.on_pod(id(), {instance->replica->id()}) > 0) ++busy;
  }
  return std::min(demand.wanted, std::max(demand.load, busy));
}

// Why not is kept in no_room_.
GateAnswer ProcessRevision::ask_for_room(const std::string& replica) {
  const GateAnswer answer = means_.memory.ask(*this, replica);
  if (answer.granted) return answer;
  no_room_ = cause_of_no_room(
      {.claim = answer.claim,
       .capacity = means_.memory.capacity(),
       .shortage = answer.later ? "memory is short, and one replica starts at a time"
                                : placement::memory_shortage(answer.free, answer.claim)});
  return answer;
}

placement::Site::Terms ProcessRevision::terms(const placement::RevisionDemand& demand,
                                              const std::optional<Limit>& most) {
  placement::Site::Terms terms{.most = demand.wanted, .there = live()};
  const auto limit = [&terms](std::int32_t replicas, placement::Missing why) {
    if (terms.most <= replicas) return false;
    terms.most = replicas;
    terms.missing = std::move(why);
    return true;
  };
  trimmed_ = means_.memory.trims();
  no_room_.reset();
  if (trimmed_) {
    limit(needed(demand), {.reason = placement::Reason::memory,
                           .detail = "memory is short: replicas without load go first",
                           .fix = "free memory",
                           .patience = std::nullopt});
  }
  bool told = false;
  if (most) {
    told = limit(std::max(most->replicas, terms.there), {.reason = placement::Reason::slots,
                                                         .detail = most->what,
                                                         .fix = most->fix,
                                                         .patience = patience(facts_.spec)});
  }
  // One port has one replica, whatever bounds were set by hand. Until that is ready there are
  // better causes.
  if (facts_.spec.fixed_port) {
    const bool limited =
        limit(1, {.reason = placement::Reason::node_limit,
                  .detail = fmt::format("one replica at most can listen on port {}",
                                        *facts_.spec.fixed_port),
                  .fix = "let it listen on $PORT",
                  .patience = std::nullopt});
    told = (told && !limited) || (limited && counts().ready > 0);
  }
  if (told) {
    no_room_ =
        Cause{.kind = CauseKind::no_room, .what = terms.missing->detail, .fix = terms.missing->fix};
  }
  terms.now = tries(std::max(0, terms.most - terms.there));
  next_numbers_ = free_numbers(terms.now);
  return terms;
}

GateAnswer ProcessRevision::may_start(std::int32_t nth) {
  return ask_for_room(replica_id(next_numbers_.at(static_cast<std::size_t>(nth))));
}

// What the gate says is in no_room_ already.
void ProcessRevision::explain(bool by_gate, bool for_good, placement::Missing& missing) {
  if (!by_gate) {
    no_room_ = Cause{.kind = for_good ? CauseKind::too_large : CauseKind::no_room,
                     .what = missing.detail,
                     .fix = missing.fix};
  }
  missing.detail = no_room_->what;
  missing.fix = no_room_->fix;
  missing.patience = no_room_->kind == CauseKind::too_large ? Duration{0} : patience(facts_.spec);
}

std::optional<std::string> ProcessRevision::throttled(const PodId& pod) const {
  const Instance* const found = find(pod.name);
  return found == nullptr ? std::nullopt : found->throttled;
}

std::optional<std::int64_t> ProcessRevision::cpu_used() const {
  std::optional<std::int64_t> all;
  for (const auto& instance : instances_) {
    if (!instance->lives() || !instance->ready_at) continue;
    const auto one = means_.memory.cpu_of(instance->replica->id());
    if (!one) return std::nullopt;
    all = all.value_or(0) + *one;
  }
  return all;
}

std::int64_t ProcessRevision::cpu_used_in(const std::string& place) const {
  std::int64_t all = 0;
  for (const auto& instance : instances_) {
    if (instance->place == place) all += means_.memory.cpu_of(instance->replica->id()).value_or(0);
  }
  return all;
}

void ProcessRevision::on_room() {
  if (starts_nothing()) return;
  const bool trims = means_.memory.trims();
  const std::int64_t claim = means_.memory.claim(*this);
  const bool other_claim = std::abs(claim - reported_claim_) > reported_claim_ / kClaimShare;
  if (no_room_ || trims || trims != trimmed_ || other_claim) owner_.on_changed(*this);
}

void ProcessRevision::on_throttled(const std::string& replica, bool throttled,
                                   const std::string& why) {
  Instance* const instance = find(replica);
  if (instance == nullptr || instance->throttled.has_value() == throttled) return;
  instance->throttled = throttled ? std::optional{why} : std::nullopt;
  if (!instance->lives() || !instance->ready_at) return;
  owner_.on_changed(*this);
}

// One that waits may be for a replica that the front door has unlisted.
bool ProcessRevision::has_request(const Instance& instance) const {
  return means_.requests.on_pod(id(), {instance.replica->id()}) > 0 ||
         means_.requests.waiting(id()) > 0;
}

// A probe would fail, and who knows its port may ask it without us. A connection of HTTP/2 may end
// while a request is on its way into it.
bool ProcessRevision::is_holdable(const Instance& instance) const {
  const ServiceSpec& its = spec();
  return its.image.empty() && !its.liveness && !its.fixed_port && !its.h2c && !instance.throttled;
}

bool ProcessRevision::held(const PodId& pod) const {
  const Instance* const found = find(pod.name);
  return found != nullptr && found->held;
}

bool ProcessRevision::on_held(const std::string& replica, bool held) {
  Instance* const instance = find(replica);
  if (instance == nullptr) return !held;
  const bool idle = instance->lives() && instance->ready_at && !has_request(*instance);
  if (held && !idle) return false;
  set_held(*instance, held);
  return true;
}

void ProcessRevision::on_request(const std::string& address) {
  Instance* const instance = at(address);
  if (instance == nullptr) return;
  set_held(*instance, false);
  means_.memory.used(instance->replica->id());
}

// The announcement of requests begins before the stop, and ends after it.
void ProcessRevision::set_held(Instance& instance, bool held) {
  if (instance.held == held) return;
  instance.held = held;
  const net::Address address = socket_at(instance.replica->serving_socket());
  if (held) means_.requests.hold(address, true);
  instance.replica->hold(held);
  if (!held) means_.requests.hold(address, false);
}

bool ProcessRevision::on_sacrifice(const std::string& replica, bool emergency,
                                   const std::string& why) {
  Instance* const instance = find(replica);
  if (instance == nullptr || !instance->lives()) return false;
  const bool busy = means_.requests.on_pod(id(), {replica}) > 0;
  if (busy && counts().ready <= 1 && !emergency) return false;
  leave(*instance, emergency ? Duration{0} : kLastAnswers, "sacrificed: " + why);
  return true;
}

}  // namespace sluice::local
