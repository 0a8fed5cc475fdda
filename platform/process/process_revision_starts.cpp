// A revision of processes as it starts its replicas: how many now, in which turn, and what stands
// in their way.

#include <fmt/format.h>

#include "platform/process/process_revision.h"
#include <algorithm>
#include <utility>

namespace sluice::local {

bool ProcessRevision::for_requests_only() const {
  return backoff_.failing() && means_.requests.waiting(id()) == 0 && !facts_.keeps_some;
}

// Whether it is not known yet that its program listens on $PORT and not on its containerPort, where
// a second one could not.
bool ProcessRevision::looks_for_port() const {
  const ServiceSpec& spec = facts_.spec;
  return spec.container_port && !spec.fixed_port && spec.image.empty() && !has_been_ready_;
}

// None during a wait, one after a failure, and of a service that fails one for a request only.
std::int32_t ProcessRevision::may_try(std::int32_t missing) const {
  if (!backoff_.may_start(means_.loop.now()) || for_requests_only()) return 0;
  if (owner_.waits_for_others(*this)) return 0;
  if (looks_for_port()) missing = std::min(missing, 1 - live());
  return backoff_.failures() > 0 ? std::min(missing, 1) : missing;
}

// Of these, as many as start in this turn.
std::int32_t ProcessRevision::tries(std::int32_t missing) const {
  const std::int32_t pace =
      has_requests() ? StartPace::kPerTurn : means_.pace.room(facts_.name, means_.loop.now());
  return std::min(may_try(missing), pace);
}

bool ProcessRevision::has_requests() const {
  if (means_.requests.waiting(id()) > 0) return true;
  return std::any_of(instances_.begin(), instances_.end(), [this](const auto& each) {
    return each->ready_at && means_.requests.on_pod(id(), {each->replica->id()}) > 0;
  });
}

void ProcessRevision::start_settled(const std::string& replica) {
  means_.pace.settled(replica);
  owner_.on_pace();
}

void ProcessRevision::start_some(std::int32_t missing) {
  if (!backoff_.may_start(means_.loop.now()) && !for_requests_only()) {
    retry_at(backoff_.retry_at());
  }
  const std::int32_t now = tries(missing);
  const bool more = now < may_try(missing);
  for (std::int32_t left = now; left > 0; --left) {
    if (!start_one()) return;
  }
  if (!more) return;
  means_.pace.wait(facts_.name, has_requests());
  owner_.on_pace();
}

std::vector<std::int32_t> ProcessRevision::free_numbers(std::int32_t count) const {
  std::vector<std::int32_t> numbers;
  for (std::int32_t number = 1; std::ssize(numbers) < count; ++number) {
    const bool taken =
        std::any_of(instances_.begin(), instances_.end(),
                    [number](const auto& each) { return each->number == number; }) ||
        std::find(gone_numbers_.begin(), gone_numbers_.end(), number) != gone_numbers_.end();
    if (!taken) numbers.push_back(number);
  }
  return numbers;
}

// The most liked place that has fewer than it should.
std::string ProcessRevision::next_place() const {
  for (const placement::PlaceShare& share : places_) {
    const auto there = std::count_if(
        instances_.begin(), instances_.end(),
        [&share](const auto& each) { return each->lives() && each->place == share.place; });
    if (there < share.replicas) return share.place;
  }
  return places_.empty() ? std::string{} : places_.front().place;
}

std::string ProcessRevision::replica_id(std::int32_t number) const {
  return fmt::format("{}-{}", facts_.name, number);
}

bool ProcessRevision::start_one() {
  const std::int32_t number = free_numbers(1).front();
  const std::string id = replica_id(number);
  const GateAnswer room = ask_for_room(id);
  if (!room.granted) {
    if (!room.later) owner_.on_changed(*this);
    return false;
  }
  ReplicaPlan plan;
  plan.spec = facts_.spec;
  plan.revision = facts_.name;
  plan.id = id;
  plan.program = facts_.program;
  plan.place = next_place();
  auto made = means_.make(*this, std::move(plan));
  if (!made) {
    means_.memory.ended(id);
    start_refused(id, made.error());
    return false;
  }
  auto instance = std::make_unique<Instance>();
  instance->number = number;
  instance->place = next_place();
  instance->start = log_.begin_start();
  instance->begun = means_.loop.now();
  instance->replica = std::move(*made);
  Replica& replica = *instance->replica;
  instances_.push_back(std::move(instance));
  ++means_.replicas;
  means_.pace.started(id, means_.loop.now());
  // First, so that its start is reported before its end can be.
  owner_.on_changed(*this);
  replica.start();
  return true;
}

void ProcessRevision::start_refused(const std::string& replica, const Problem& problem) {
  log_.append(means_.loop.now(), {replica}, "did not start: " + problem.text());
  backoff_.failed(means_.loop.now());
  last_failure_ = {.kind = CauseKind::cannot_start, .what = problem.what, .fix = problem.fix};
  means_.events.problem("warning", facts_.spec.name, problem.what, problem.fix);
  owner_.on_changed(*this);
  retry_at(backoff_.retry_at());
  if (!backoff_.failing()) return;
  means_.loop.post([this, alive = alive_.watch()] {
    if (!alive.over()) owner_.on_failing(*this);
  });
}

void ProcessRevision::retry_at(TimePoint when) {
  retry_->at(when, [this] { reconcile(); });
}

}  // namespace sluice::local
