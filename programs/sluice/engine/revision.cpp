#include "programs/sluice/engine/revision.h"

#include "common/ignore/rules.h"
#include "common/scaling/setting_names.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/engine/revision_instance.h"
#include <algorithm>

namespace sluice::local {
namespace asio = boost::asio;
using autoscaler::Trigger;

namespace {

// An exit after this long is an accident and is made good at once; a sooner one may be a habit, and
// waits its turn like a failed start.
constexpr Duration kSteadyLife = std::chrono::seconds{1};

RevisionId revision_id(const std::string& name) {
  return {"default", name};
}

activator::FrontRevision front_revision(const Platform& platform, const std::string& name,
                                        const ServiceSpec& spec) {
  activator::FrontRevision revision;
  revision.id = revision_id(name);
  revision.throttler.container_concurrency = spec.container_concurrency;
  revision.throttler.queue_depth = static_cast<std::int32_t>(platform.settings.queue.depth);
  revision.throttler.queue_wait = platform.settings.queue.wait;
  const auto policy = spec.template_annotations.find(std::string{kLoadBalancingKey});
  if (policy != spec.template_annotations.end()) {
    revision.throttler.policy = activator::parse_policy(policy->second);
  }
  revision.timeouts.max = spec.timeout;
  if (spec.response_start_timeout.count() > 0) {
    revision.timeouts.response_start = spec.response_start_timeout;
  }
  if (spec.idle_timeout.count() > 0) revision.timeouts.idle = spec.idle_timeout;
  return revision;
}

// What parse_services has accepted.
std::shared_ptr<const ignore::Rules> rules_of(const ServiceSpec& spec) {
  const auto text = [&spec](std::string_view key) {
    const auto found = spec.template_annotations.find(std::string{key});
    return found == spec.template_annotations.end() ? std::string{} : found->second;
  };
  auto rules = std::make_shared<ignore::Rules>(text(ignore::kPathsKey), text(ignore::kAgentsKey));
  return rules->empty() ? nullptr : rules;
}

}  // namespace

Revision::Revision(Platform& platform, RevisionOwner& owner, ServiceLog& log, Facts facts)
    : platform_{platform},
      owner_{owner},
      log_{log},
      facts_{std::move(facts)},
      scaler_handle_{platform.scale_loop.add(
          revision_id(facts_.name),
          {.scaling = facts_.scaling, .revision = {}, .replicas = facts_.replicas}, *this)},
      scaler_{&platform.scale_loop.scaler(scaler_handle_)},
      handle_{platform.front->add(front_revision(platform, facts_.name, facts_.spec))},
      retry_timer_{platform.io},
      random_{std::hash<std::string>{}(facts_.name)},
      stats_{platform.io},
      scraper_{stats_,
               random_,
               {.ended = [this](const autoscaler::ScrapeResult& result) { scrape_ended(result); },
                .answered = [](const std::string& /*address*/, const autoscaler::Stat& /*stat*/) {},
                .flawed = [this] { platform_.scale_loop.count_flawed(); }}} {
  platform_.front->set_ignore(handle_, rules_of(facts_.spec));
  platform_.memory.enter(*this);
  platform_.revisions.enter(handle_, *this);
}

Revision::~Revision() {
  alive_.end();
  platform_.revisions.leave(handle_);
  platform_.memory.leave(*this);
  platform_.scale_loop.remove(scaler_handle_);
  platform_.front->remove(handle_);
}

void Revision::update(const ServiceSpec& spec, const autoscaler::ScalingSpec& scaling) {
  facts_.spec = spec;
  facts_.scaling = scaling;
  platform_.front->set_ignore(handle_, rules_of(spec));
  scaler_->update(scaling, platform_.clock.now());
  evaluate(Trigger::change);
}

Revision::Instance& Revision::instance_of(const Replica& replica) {
  const auto found = std::find_if(
      instances_.begin(), instances_.end(),
      [&replica](const auto& instance) { return instance->replica.get() == &replica; });
  CHECK(found != instances_.end());
  return **found;
}

Revision::Counts Revision::counts() const {
  Counts counts;
  for (const auto& instance : instances_) {
    if (instance->ended) continue;
    if (instance->draining) {
      ++counts.draining;
    } else if (instance->ready_at) {
      ++counts.ready;
      if (instance->throttled) ++counts.throttled;
    } else {
      ++counts.starting;
    }
  }
  return counts;
}

void Revision::on_second() {
  backoff_.tick(platform_.clock.now());
}

void Revision::on_due(bool evaluate_too) {
  if (retired_ || stopping_) return;
  scrape();
  if (evaluate_too) evaluate(Trigger::tick);
}

void Revision::on_wanted() {
  if (retired_ || stopping_) return;
  if (!noticed_) noticed_ = platform_.clock.now();
  evaluate(Trigger::poke);
}

// A first request pokes by itself. This is for those that come to wait later: the replicas went
// while the revision was not idle, or the start that they hoped for failed.
void Revision::on_demand() {
  if (retired_ || stopping_ || demand_posted_) return;
  demand_posted_ = true;
  asio::post(platform_.io, [this, alive = alive_.watch()] {
    if (alive.over()) return;
    demand_posted_ = false;
    if (stopping_ || retired_ || platform_.front->waiting(handle_) == 0) return;
    if (scaler_->want() == 0) {
      platform_.scale_loop.poke({revision_id(facts_.name), 1, 1});
    } else {
      if (!noticed_) noticed_ = platform_.clock.now();
      reconcile();
    }
  });
}

void Revision::evaluate(Trigger trigger) {
  if (retired_ || stopping_) return;
  autoscaler::ScaleInputs inputs;
  inputs.trigger = trigger;
  inputs.ready = counts().ready - counts().throttled;
  const autoscaler::ScaleState state = scaler_->evaluate(inputs, platform_.clock.now());
  autoscaler::DecisionRecord record = state.record;
  limit(record);
  if (state.changed) publish_decision(record);
  reconcile();
  owner_.on_revision_changed(*this);
}

std::int32_t Revision::wanted() const {
  if (retired_ || stopping_) return 0;
  std::int32_t want = scaler_->want();
  if (facts_.spec.fixed_port) want = std::min(want, 1);
  const std::int32_t mine = counts().ready + counts().starting;
  const std::int32_t room = std::max(0, platform_.settings.max_replicas - platform_.replicas);
  want = std::min(want, mine + room);
  return platform_.memory.trims() ? needed(want) : want;
}

// Compares what should run with what runs and moves one towards the other; harmless to repeat.
void Revision::reconcile() {
  const std::int32_t want = wanted();
  const Counts now = counts();
  const std::int32_t live = now.ready + now.starting;
  asks_for_room_ = false;
  if (live >= want) note_shortage(std::nullopt);
  if (live < want) start_some(want - live);
  if (live > want) stop_some(live - want);
  publish_limit();
}

void Revision::start_some(std::int32_t count) {
  const TimePoint now = platform_.clock.now();
  if (!backoff_.may_start(now)) {
    if (!backoff_.failing() || facts_.scaling.bounds.min > 0) retry_at(backoff_.retry_at());
    return;
  }
  if (backoff_.failing() && facts_.scaling.bounds.min == 0 &&
      platform_.front->waiting(handle_) == 0) {
    return;  // failing: only a new request is worth another try
  }
  if (backoff_.failures() > 0) count = 1;
  for (; count > 0; --count) {
    if (!has_room() || !start_one()) return;
  }
  note_shortage(std::nullopt);
}

std::int32_t Revision::free_number() const {
  for (std::int32_t number = facts_.first_number;; ++number) {
    const bool taken = std::any_of(instances_.begin(), instances_.end(),
                                   [number](const auto& i) { return i->number == number; });
    if (!taken) return number;
  }
}

std::string Revision::replica_id(std::int32_t number) const {
  return fmt::format("{}-{}", facts_.name, number);
}

bool Revision::start_one() {
  auto lease = facts_.spec.fixed_port ? platform_.ports.reserve(*facts_.spec.fixed_port)
                                      : platform_.ports.allocate();
  const std::int32_t number = free_number();
  const std::string id = replica_id(number);
  if (!lease) {
    platform_.memory.ended(id);
    backoff_.failed(platform_.clock.now());
    warn(lease.error().what, lease.error().fix);
    if (backoff_.failing()) platform_.front->refuse_starts(handle_, backoff_.retry_at());
    retry_at(backoff_.retry_at());
    return false;
  }
  auto instance = std::make_unique<Instance>();
  instance->number = number;
  ReplicaPlan plan;
  plan.spec = facts_.spec;
  plan.revision = facts_.name;
  plan.id = id;
  plan.port = std::move(*lease);
  plan.program = facts_.program;
  plan.sidecar = platform_.sidecar;
  plan.directory = platform_.paths.replica_dir(plan.id);
  plan.environment = platform_.environment;
  plan.open_files = platform_.open_files;
  plan.write_timeout = platform_.settings.limits.write_timeout;
  plan.cgroups = &platform_.cgroups;
  instance->replica = std::make_unique<Replica>(platform_.io, platform_.clock, platform_.reaper,
                                                *this, std::move(plan));
  instances_.push_back(std::move(instance));
  ++platform_.replicas;
  Replica& replica = *instances_.back()->replica;
  replica.start();
  if (replica.app_pid() > 0) platform_.journal.add(replica.id(), replica.app_pid());
  if (replica.sidecar_pid() > 0) platform_.journal.add(replica.id(), replica.sidecar_pid());
  publish_replica(replica, "starting", nullptr);
  return true;
}

// Idlest first: those that are not even ready, then by requests in flight, of equals the throttled,
// then the youngest.
void Revision::stop_some(std::int32_t count) {
  std::vector<Instance*> candidates;
  for (const auto& instance : instances_) {
    if (instance->counts()) candidates.push_back(instance.get());
  }
  const auto busy = [this](const Instance* instance) {
    return instance->ready_at
               ? std::int64_t{platform_.front->in_flight(handle_, {instance->replica->id()})}
               : -1;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&busy](const Instance* a, const Instance* b) {
                     const auto left = busy(a);
                     const auto right = busy(b);
                     if (left != right) return left < right;
                     if (a->throttled != b->throttled) return a->throttled;
                     return a->number > b->number;
                   });
  for (Instance* instance : candidates) {
    if (count-- <= 0) break;
    instance->draining = true;
  }
  // All leave routing in one step; only then may any of them be stopped.
  tell_front();
  for (Instance* instance : candidates) {
    if (instance->draining) {
      publish_leaving(*instance->replica, {});
      drain(*instance, facts_.spec.timeout);
    }
  }
}

void Revision::drain(Instance& instance, Duration longest) {
  Replica& replica = *instance.replica;
  if (!instance.ready_at || platform_.front->in_flight(handle_, {replica.id()}) == 0) {
    stop(instance);
    return;
  }
  instance.drain_timer = std::make_unique<asio::steady_timer>(platform_.io);
  instance.drain_timer->expires_after(longest);
  instance.drain_timer->async_wait(
      [this, &replica, alive = alive_.watch()](const boost::system::error_code& ec) {
        if (!alive.over() && !ec) stop(instance_of(replica));
      });
}

void Revision::stop(Instance& instance) {
  instance.draining = true;
  if (instance.drain_timer) instance.drain_timer->cancel();
  instance.replica->stop();
}

void Revision::on_pod_drained(const PodId& pod) {
  for (const auto& instance : instances_) {
    if (instance->replica->id() == pod.name && instance->draining && !instance->ended) {
      stop(*instance);
      return;
    }
  }
}

void Revision::retire() {
  if (!retired_) retired_scaler_ = platform_.scale_loop.remove(scaler_handle_);
  retired_ = true;
  retry_timer_.cancel();
  stop_some(static_cast<std::int32_t>(instances_.size()));
}

void Revision::stop_all(bool kill) {
  stopping_ = true;
  retry_timer_.cancel();
  for (const auto& instance : instances_) {
    instance->draining = true;
    if (kill) {
      instance->replica->kill();
    } else {
      stop(*instance);
    }
  }
}

void Revision::retry_at(TimePoint when) {
  retry_timer_.expires_after(std::max(Duration{0}, when - platform_.clock.now()));
  retry_timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (!alive.over() && !ec) reconcile();
  });
}

void Revision::tell_front() {
  std::vector<activator::FrontPod> pods;
  for (const auto& instance : instances_) {
    if (!instance->is_ready()) continue;
    activator::FrontPod pod;
    pod.id = {instance->replica->id()};
    pod.address.path = instance->replica->serving_socket().string();
    pod.avoid = instance->throttled;
    pods.push_back(std::move(pod));
  }
  platform_.front->set_pods(handle_, pods);
}

void Revision::on_ready(Replica& replica) {
  Instance& instance = instance_of(replica);
  if (!instance.counts()) return;
  const TimePoint now = platform_.clock.now();
  instance.ready_at = now;
  backoff_.became_ready(now);
  tell_front();
  publish_replica(replica, "ready", nullptr);
  owner_.on_revision_ready(*this);
  owner_.on_revision_changed(*this);
}

void Revision::on_start_failed(Replica& replica, const ReplicaEnd& end) {
  Instance& instance = instance_of(replica);
  instance.ended = true;
  if (instance.draining || stopping_ || retired_) return;
  const TimePoint now = platform_.clock.now();
  backoff_.failed(now);
  last_failure_ = end.reason;
  publish_replica(replica, "exited", &end);
  log_.append(now, replica.id(), "did not start: " + end.reason);
  if (backoff_.failing()) {
    platform_.front->refuse_starts(handle_, backoff_.retry_at());
    owner_.on_revision_failing(*this);
    if (retired_) return;
  }
  reconcile();
  owner_.on_revision_changed(*this);
}

void Revision::on_exited_after_ready(Replica& replica, const ReplicaEnd& end) {
  Instance& instance = instance_of(replica);
  const TimePoint now = platform_.clock.now();
  const bool steady = instance.ready_at && now - *instance.ready_at >= kSteadyLife;
  const bool expected = instance.draining || stopping_;
  instance.ended = true;
  tell_front();
  if (expected) return;
  publish_replica(replica, "exited", &end);
  if (counts().ready == 0) backoff_.no_longer_ready();
  if (!steady) backoff_.failed(now, false);
  reconcile();
  owner_.on_revision_changed(*this);
}

void Revision::on_stopped(Replica& replica) {
  platform_.journal.remove(replica.id());
  platform_.memory.ended(replica.id());
  --platform_.replicas;
  if (instance_of(replica).draining) publish_replica(replica, "stopped", nullptr);
  std::erase_if(instances_, [&replica](const std::unique_ptr<Instance>& instance) {
    return instance->replica.get() == &replica;
  });
  if (counts().ready == 0) {
    backoff_.no_longer_ready();
    noticed_.reset();
  }
  if (!stopping_ && !retired_) reconcile();
  owner_.on_revision_changed(*this);
  if (instances_.empty()) owner_.on_revision_empty(*this);
}

std::optional<ColdStart> Revision::cold_start_for(TimePoint arrived, TimePoint dispatched) {
  const Instance* first = nullptr;
  for (const auto& instance : instances_) {
    if (!instance->ready_at) continue;
    if (first == nullptr || *instance->ready_at < *first->ready_at) first = instance.get();
  }
  if (first == nullptr) return std::nullopt;
  const ReplicaTimes& times = first->replica->times();
  ColdStart start;
  start.service = facts_.spec.name;
  start.replica = first->replica->id();
  start.born = times.created.value_or(arrived);
  start.arrived = arrived;
  // A request may arrive when its start is under way already: what was over by then cost it
  // nothing.
  const auto step = [](TimePoint before, std::optional<TimePoint> at) {
    return std::max(before, at.value_or(before));
  };
  start.noticed =
      step(arrived, std::min(noticed_.value_or(arrived), times.created.value_or(arrived)));
  start.created = step(start.noticed, times.created);
  start.executed = step(start.created, times.executed);
  start.listening = step(start.executed, times.listening);
  start.dispatched = step(start.listening, dispatched);
  start.first_byte = step(start.dispatched, platform_.clock.now());
  return start;
}

}  // namespace sluice::local
