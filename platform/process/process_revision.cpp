#include "platform/process/process_revision.h"

#include "common/base/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::local {
namespace {

// An exit after this long is an accident and is made good at once; a sooner one may be a habit, and
// waits its turn like a failed start.
constexpr Duration kSteadyLife = std::chrono::seconds{1};

// For so long an end by itself is shown; Kubernetes forgets its back-off after that time too.
constexpr Duration kEndsShown = std::chrono::minutes{10};

// In a row, at once; beyond it something takes each port that is free, and the next tries wait.
constexpr int kTakenPortsMax = 3;

constexpr double kMillicores = 1000;  // of a core

}  // namespace

// What replica_id() makes.
std::string revision_of(const PodId& replica) {
  return replica.name.substr(0, replica.name.rfind('-'));
}

net::Address socket_at(const std::filesystem::path& path) {
  return {.host = {}, .port = 0, .path = path.string()};
}

ProcessRevision::ProcessRevision(ProcessMeans& means, ProcessRevisionOwner& owner, ServiceLog& log,
                                 Facts facts)
    : means_{means},
      owner_{owner},
      log_{log},
      facts_{std::move(facts)},
      retry_{means.loop.timer()} {
  means_.memory.enter(*this);
}

ProcessRevision::~ProcessRevision() {
  alive_.end();
  means_.pace.leave(facts_.name);
  means_.memory.leave(*this);
}

model::Revision ProcessRevision::model() const {
  model::Revision model;
  model.id = id();
  model.service = facts_.spec.name;
  model.container_concurrency = facts_.spec.container_concurrency;
  model.timeout = facts_.spec.timeout;
  model.response_start_timeout = facts_.spec.response_start_timeout;
  model.idle_timeout = facts_.spec.idle_timeout;
  model.claim_memory = means_.memory.claim(*this);
  if (facts_.spec.cpu_limit) {
    model.claim_cpu = static_cast<std::int64_t>(std::ceil(*facts_.spec.cpu_limit * kMillicores));
  }
  model.placement = facts_.spec.placement;
  model.one_at_a_time = facts_.spec.fixed_port.has_value();
  model.initial = facts_.initial;
  model.retired = retired();
  if (kept_.value_or(0) > 0) model.chosen = kept_;
  model.start_failure = start_failure();
  model.failed_starts = backoff_.failures();
  if (backoff_.failures() >= StartBackoff::kFailingAfter && last_failure_) {
    model.growth_failure = last_failure_->sentence();
  }
  for (const auto& instance : instances_) {
    if (!instance->ended) model.pods.push_back(pod_of(*instance));
  }
  return model;
}

// Of starts that have failed, or of one that will, unless its program moves.
std::optional<model::StartFailure> ProcessRevision::start_failure() const {
  const auto failure = [](const Cause& cause, TimePoint until) {
    return model::StartFailure{
        .why = cause.sentence(), .retry_at = until, .for_clients = cause.for_clients()};
  };
  if (backoff_.failing() && last_failure_) return failure(*last_failure_, backoff_.retry_at());
  if (counts().ready > 0) return std::nullopt;
  for (const auto& instance : instances_) {
    if (!instance->lives() || !instance->settled) continue;
    const TimePoint begun = instance->replica->times().executed.value_or(means_.loop.now());
    return failure(*instance->settled, begun + facts_.spec.start_timeout);
  }
  return std::nullopt;
}

model::Pod ProcessRevision::pod_of(const Instance& instance) const {
  model::Pod pod;
  pod.id = {instance.replica->id()};
  pod.node = instance.place;
  pod.terminating = instance.leaving;
  pod.failed = instance.why;
  if (!instance.ready_at) return pod;
  pod.ready = true;
  pod.proven = true;
  pod.address = socket_at(instance.replica->serving_socket());
  pod.stats = socket_at(instance.replica->stats_socket());
  return pod;
}

std::vector<model::Pod> ProcessRevision::serving() const {
  std::vector<model::Pod> pods;
  for (const auto& instance : instances_) {
    if (instance->lives() && instance->ready_at) pods.push_back(pod_of(*instance));
  }
  return pods;
}

// What the last try came to stands until one is ready; the present try may show more than that.
std::optional<Cause> ProcessRevision::not_ready() const {
  const std::int32_t ready = counts().ready;
  if (retired() || (ready > 0 && (!last_failure_ || ready >= ordered_))) return std::nullopt;
  std::optional<Cause> seen;
  for (const auto& instance : instances_) {
    if (!instance->lives() || instance->ready_at) continue;
    seen = instance->replica->waits_for();
    break;
  }
  if (!seen && means_.pace.waits(facts_.name)) seen = Cause{.what = "other services start first"};
  if (!seen) seen = no_room_;
  const bool tells_more =
      seen && (!last_failure_ || is_wrong_place(seen->kind) || seen == no_room_);
  if (ready == 0 && tells_more) return seen;
  return ordered_ > 0 ? last_failure_ : std::nullopt;
}

std::optional<Cause> ProcessRevision::shortage() const {
  return retired() || counts().ready == 0 ? std::nullopt : no_room_;
}

std::optional<Cause> ProcessRevision::restarts() const {
  if (!last_end_ || ordered_ == 0 || retired()) return std::nullopt;
  const Duration ago = means_.loop.now() - *last_end_;
  if (ago >= kEndsShown) return std::nullopt;
  return cause_of_restarts(ended_, ago, last_end_cause_);
}

ProcessRevision::Instance* ProcessRevision::find(const std::string& replica) const {
  const auto found =
      std::find_if(instances_.begin(), instances_.end(),
                   [&replica](const auto& each) { return each->replica->id() == replica; });
  return found == instances_.end() ? nullptr : found->get();
}

ProcessRevision::Instance* ProcessRevision::at(const std::string& address) const {
  const auto found = std::find_if(instances_.begin(), instances_.end(), [&](const auto& each) {
    return socket_at(each->replica->serving_socket()).text() == address;
  });
  return found == instances_.end() ? nullptr : found->get();
}

ProcessRevision::Instance& ProcessRevision::instance_of(const Replica& replica) {
  Instance* const found = find(replica.id());
  CHECK(found != nullptr);
  return *found;
}

const Replica* ProcessRevision::replica(const PodId& pod) const {
  const Instance* const found = find(pod.name);
  return found == nullptr ? nullptr : found->replica.get();
}

std::int64_t ProcessRevision::start_of(const std::string& replica) const {
  const Instance* const found = find(replica);
  return found == nullptr ? 0 : found->start;
}

ProcessRevision::Counts ProcessRevision::counts() const {
  Counts counts;
  for (const auto& instance : instances_) {
    if (instance->ended) continue;
    ++(instance->leaving ? counts.draining : instance->ready_at ? counts.ready : counts.starting);
  }
  return counts;
}

std::int32_t ProcessRevision::live() const {
  const Counts now = counts();
  return now.ready + now.starting;
}

void ProcessRevision::update(const ServiceSpec& spec, bool keeps_some) {
  take_live(facts_.spec, spec);
  facts_.keeps_some = keeps_some;
}

void ProcessRevision::order(const autoscaler::ScaleOrder& order) {
  if (stopped_) return;
  ordered_ = order.replicas;
  places_ = order.places;
  beside_ = order.beside;
  if (ordered_ == 0) last_end_.reset();
  notice_start();
  for (const PodId& pod : order.remove) {
    Instance* const instance = find(pod.name);
    if (instance == nullptr || !instance->lives()) continue;
    const auto& overdue = order.overdue;
    const bool waited_for = std::find(overdue.begin(), overdue.end(), pod) != overdue.end();
    leave(*instance, waited_for ? Duration{0} : facts_.spec.timeout, {});
  }
  const bool shifted = std::exchange(shifting_, order.shifting) && !shifting_;
  if (shifted) owner_.on_changed(*this);
  reconcile();
}

void ProcessRevision::demand() {
  if (!stopped_) notice_start();
  reconcile();
}

void ProcessRevision::notice_start() {
  if (ordered_ > 0 && live() == 0 && !noticed_) noticed_ = means_.loop.now();
}

// Makes what is missing. Orders name the replicas that are too many, once the activator avoids
// them.
void ProcessRevision::reconcile() {
  if (starts_nothing()) return;
  const std::int32_t missing = ordered_ - live();
  if (missing > 0) start_some(missing);
}

bool ProcessRevision::drains() const {
  return std::any_of(instances_.begin(), instances_.end(),
                     [this](const auto& each) { return retired() || !each->lives(); });
}

// It is stopped once what model() says is in force (reported()).
void ProcessRevision::leave(Instance& instance, Duration longest, const std::string& why) {
  instance.leaving = true;
  set_held(instance, false);
  instance.drain_limit = longest;
  instance.why = why;
  owner_.on_changed(*this);
}

void ProcessRevision::begin_report() {
  reported_claim_ = means_.memory.claim(*this);
  for (const auto& instance : instances_) instance->told = instance->leaving;
}

void ProcessRevision::reported() {
  gone_numbers_.clear();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = *instances_[i];
    if (!instance.told || instance.stopping || instance.drain_timer) continue;
    const PodId pod{instance.replica->id()};
    if (!instance.ready_at || means_.requests.on_pod(id(), pod) == 0) {
      stop(instance);
      continue;
    }
    instance.drain_timer = means_.loop.timer();
    instance.drain_timer->after(instance.drain_limit, [this, pod] {
      if (Instance* const found = find(pod.name)) stop(*found);
    });
  }
}

void ProcessRevision::on_pod_drained(const std::string& address) {
  Instance* const instance = at(address);
  if (instance == nullptr || !instance->drain_timer) return;
  // It may have shared the requests of two revisions.
  if (means_.requests.on_pod(id(), {instance->replica->id()}) == 0) stop(*instance);
}

void ProcessRevision::stop(Instance& instance) {
  if (std::exchange(instance.stopping, true) || instance.ended) return;
  instance.leaving = true;
  set_held(instance, false);
  if (instance.drain_timer) instance.drain_timer->cancel();
  instance.replica->stop();
}

void ProcessRevision::hand_over(std::int32_t replicas) {
  if (kept_ && *kept_ <= replicas) return;
  kept_ = replicas;
  retry_->cancel();
  means_.pace.leave(facts_.name);
  owner_.on_changed(*this);
}

void ProcessRevision::take_back() {
  if (!kept_) return;
  kept_.reset();
  owner_.on_changed(*this);
  reconcile();
}

void ProcessRevision::stop_all(bool kill) {
  stopped_ = true;
  retry_->cancel();
  means_.pace.leave(facts_.name);
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    Instance& instance = *instances_[i];
    if (kill) {
      instance.leaving = true;
      instance.replica->kill();
    } else {
      stop(instance);
    }
  }
}

ProcessRevision::FirstStart ProcessRevision::first_start() const {
  const Instance* first = nullptr;
  for (const auto& instance : instances_) {
    if (!instance->ready_at) continue;
    if (first == nullptr || *instance->ready_at < *first->ready_at) first = instance.get();
  }
  return {.replica = first == nullptr ? nullptr : first->replica.get(), .noticed = noticed_};
}

void ProcessRevision::on_ready(Replica& replica) {
  Instance& instance = instance_of(replica);
  if (!instance.lives()) return;
  const TimePoint now = means_.loop.now();
  instance.ready_at = now;
  starts_.note(now - instance.begun);
  instance.settled.reset();
  backoff_.became_ready(now);
  taken_ports_ = 0;
  const bool looked_for_port = looks_for_port();
  has_been_ready_ = true;
  last_failure_.reset();
  start_settled(replica.id());
  owner_.on_ready(*this);
  if (looked_for_port) reconcile();
}

void ProcessRevision::on_start_failed(Replica& replica, const ReplicaEnd& end) {
  Instance& instance = instance_of(replica);
  instance.ended = true;
  start_settled(replica.id());
  if (instance.leaving || starts_nothing()) return;
  const TimePoint now = means_.loop.now();
  // Another program was faster to take a port that was free; the next replica gets another one.
  const bool unlucky = end.cause.kind == CauseKind::port_taken && !facts_.spec.fixed_port;
  if (unlucky) {
    if (++taken_ports_ > kTakenPortsMax) {
      backoff_.failed(now, false);
      last_failure_ = end.cause;
    }
    owner_.on_changed(*this);
    return reconcile();
  }
  backoff_.failed(now);
  last_failure_ = end.cause;
  means_.events.exited(facts_.spec.name, replica, end, backoff_.wait_left(now));
  log_.append(now, {replica.id(), instance.start}, "did not start: " + end.cause.sentence());
  owner_.on_changed(*this);
  if (backoff_.failing()) owner_.on_failing(*this);
  reconcile();
}

void ProcessRevision::on_exited_after_ready(Replica& replica, const ReplicaEnd& end) {
  Instance& instance = instance_of(replica);
  const TimePoint now = means_.loop.now();
  const bool steady = instance.ready_at && now - *instance.ready_at >= kSteadyLife;
  const bool expected = instance.leaving || stopped_;
  instance.ended = true;
  owner_.on_changed(*this);
  if (expected) return;
  ++ended_;
  last_end_ = now;
  last_end_cause_ = end.cause;
  means_.events.exited(facts_.spec.name, replica, end, std::nullopt);
  log_.append(now, {replica.id(), instance.start}, "ended: " + end.cause.sentence());
  if (counts().ready == 0) backoff_.no_longer_ready();
  if (!steady) backoff_.failed(now, false);
  reconcile();
}

void ProcessRevision::on_stopped(Replica& replica) {
  if (means_.ended) means_.ended(replica);
  means_.memory.ended(replica.id());
  start_settled(replica.id());
  --means_.replicas;
  Instance& instance = instance_of(replica);
  set_held(instance, false);
  gone_numbers_.push_back(instance.number);
  std::erase_if(instances_, [&replica](const std::unique_ptr<Instance>& each) {
    return each->replica.get() == &replica;
  });
  if (counts().ready == 0) {
    backoff_.no_longer_ready();
    noticed_.reset();
  }
  owner_.on_changed(*this);
  reconcile();
}

void ProcessRevision::on_output(Replica& replica, OutputSource source, std::string_view line) {
  // A failure of it that matters is a cause of the replica, or an answer of the front door.
  if (source == OutputSource::sidecar) {
    means_.log.write(log::Severity::debug, line, {{"replica", replica.id()}});
    return;
  }
  const std::int64_t start = start_of(replica.id());
  log_.append(means_.loop.now(), {replica.id(), start}, line);
  means_.events.output(facts_.spec.name, {replica.id(), start}, source == OutputSource::app_stderr,
                       line);
}

void ProcessRevision::on_launched(Replica& replica) {
  means_.memory.launched();
  if (means_.started) means_.started(replica);
}

void ProcessRevision::on_waiting(Replica& replica, const Cause& cause) {
  if (!instance_of(replica).lives()) return;
  log_.append(means_.loop.now(), {replica.id(), start_of(replica.id())},
              "is not ready: " + cause.sentence());
  means_.events.waiting(facts_.spec.name, replica, cause);
  if (cause.kind == CauseKind::container_port && !facts_.spec.fixed_port) serve_at_container_port();
}

// One program at a time can listen there: what runs ends first, and the next one waits for the
// port (waits_for_others()).
void ProcessRevision::serve_at_container_port() {
  facts_.spec.fixed_port = facts_.spec.container_port;
  facts_.port_was_found = true;
  means_.events.problem(
      "warning", facts_.spec.name,
      fmt::format("{} listens on its containerPort {}, not on $PORT: it is served there, by one "
                  "replica at most",
                  facts_.name, *facts_.spec.fixed_port),
      "let it listen on $PORT for more");
  ordered_ = std::min(ordered_, 1);
  for (const auto& instance : instances_) {
    if (instance->lives()) leave(*instance, facts_.spec.timeout, {});
  }
  owner_.on_changed(*this);
}

std::string ProcessRevision::written_hash() const {
  if (!facts_.port_was_found) return template_hash(facts_.spec);
  ServiceSpec written = facts_.spec;
  written.fixed_port.reset();
  return template_hash(written);
}

void ProcessRevision::on_settled_elsewhere(Replica& replica, const Cause& cause) {
  instance_of(replica).settled = cause;
  owner_.on_changed(*this);
}

}  // namespace sluice::local
