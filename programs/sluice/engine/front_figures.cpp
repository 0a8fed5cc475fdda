#include "programs/sluice/engine/front_figures.h"

#include "activator/io/wake_watch.h"
#include "autoscaler/io/cold_start_json.h"
#include "autoscaler/io/revision.h"
#include "autoscaler/io/time_text.h"

#include <fmt/format.h>

#include "programs/sluice/engine/start_phases.h"
#include <array>

namespace sluice::local {

using autoscaler::Revision;
using nlohmann::json;

namespace {

using End = net::Outcome::End;

constexpr int kFirstClientError = 400;
constexpr int kFirstServerError = 500;
constexpr std::array<const char*, 3> kPressures{"ok", "high", "critical"};

bool is_refused(const activator::Served& served) {
  return !served.dispatched && served.outcome.end == End::own &&
         served.outcome.status >= kFirstClientError;
}

// A client that leaves is none.
bool is_error(const activator::Served& served) {
  const End end = served.outcome.end;
  return !is_refused(served) && (end == End::aborted || end == End::timed_out ||
                                 served.outcome.status >= kFirstServerError);
}

}  // namespace

void FrontFigures::entered(activator::RevisionHandle handle, const std::string& service) {
  std::shared_ptr<Service>& known = services_[service];
  if (!known) known = std::make_shared<Service>();
  by_handle_.enter(handle, known);
  // It enters with every change of its replicas, and what was counted stays.
  if (times_.find(handle) == nullptr) times_.enter(handle, std::make_shared<ServiceTimes>());
}

std::optional<autoscaler::TrafficNote> FrontFigures::take_traffic(const RevisionId& id) {
  const auto handle = parts_.book.find(id);
  ServiceTimes* const times = handle ? times_.find(*handle) : nullptr;
  if (times == nullptr) return std::nullopt;
  return times->take(parts_.clock.now(), parts_.requests.waiting(id),
                     parts_.front.in_flight(*handle));
}

const FrontFigures::Service* FrontFigures::find(const std::string& service) const {
  const auto found = services_.find(service);
  return found == services_.end() ? nullptr : found->second.get();
}

void FrontFigures::served(activator::RevisionHandle handle, const activator::Served& served) {
  if (ServiceTimes* const times = times_.find(handle); times != nullptr) {
    if (served.dispatched) {
      times->served(parts_.clock.now() - served.took, served.took - served.waited, served.waited);
    } else {
      times->refused();
    }
  }
  Service* const service = by_handle_.find(handle);
  if (service == nullptr) return;
  const TimePoint now = parts_.clock.now();
  service->latency.record(served.took, now);
  service->refused += is_refused(served) ? 1U : 0U;
  service->errors += is_error(served) ? 1U : 0U;
  if (served.ignored) return;  // it keeps nothing awake
  service->callers.record(served.client, served.head.method, served.head.path(), now);
}

std::string FrontFigures::cold_start(activator::RevisionHandle handle, TimePoint arrived,
                                     TimePoint dispatched) {
  const RevisionId id = parts_.front.id_of(handle);
  const ProcessRevision* const revision = parts_.platform.revision(id);
  Service* const service = by_handle_.find(handle);
  if (revision == nullptr || service == nullptr) return {};
  const ProcessRevision::FirstStart first = revision->first_start();
  if (first.replica == nullptr) return {};
  const Start start = phases_of_start({.replica = first.replica->id(),
                                       .times = first.replica->times(),
                                       .noticed = first.noticed,
                                       .arrived = arrived,
                                       .dispatched = dispatched,
                                       .first_byte = parts_.clock.now()});
  // Every held request gets its own header; the start itself is reported once.
  if (start.born != service->cold_start_told) {
    service->cold_start_told = start.born;
    const model::Revision of = revision->model();
    service->last_cold_start = autoscaler::cold_start_json(of, start.took, start.first_byte);
    parts_.events.publish(*service->last_cold_start);
    parts_.history.record_cold_start(of, start.first_byte, *service->last_cold_start);
    parts_.started(id, start.took);
  }
  return activator::cold_start_lines(start.took);
}

void FrontFigures::complete(const Revision& revision, json& status) const {
  const model::Revision& facts = revision.facts();
  // Of a revision beside the latest one: where it answers alone, else where it shares.
  const auto& hosts = facts.own_hosts.empty() ? facts.hosts : facts.own_hosts;
  if (parts_.platform.find(facts.service) != nullptr) {
    status["url"] = parts_.url(facts.service + ".localhost");
  } else if (!hosts.empty()) {
    status["url"] = parts_.url(hosts.front().host);
  }
  if (const ProcessRevision* const own = parts_.platform.revision(facts.id)) {
    status["percent"] = parts_.platform.service_of(facts.id)->percent_of(*own);
    status["restarts"] = own->ended();
  }
  const auto handle = parts_.book.find(facts.id);
  status["not_ready"] = not_ready(revision);
  status["queued"] = parts_.requests.waiting(facts.id);
  status["in_flight"] = handle ? parts_.front.in_flight(*handle) : 0;
  const TimePoint now = parts_.clock.now();
  const Service* const service = find(facts.service);
  const autoscaler::LatencyCounts recent =
      service == nullptr ? autoscaler::LatencyCounts{} : service->latency.recent(now);
  status["rps"] = service == nullptr ? 0.0 : service->latency.rate(now);
  status["p50_ms"] = recent.quantile_ms(0.5);
  status["p99_ms"] = recent.quantile_ms(0.99);
}

autoscaler::FrontFacts::Counted FrontFigures::counted(const Revision& revision) const {
  Counted counted;
  const RevisionId& id = revision.facts().id;
  if (const auto handle = parts_.book.find(id)) {
    counted.queued = parts_.front.waiting(*handle);
    counted.in_flight = parts_.front.in_flight(*handle);
  }
  if (const Service* const service = find(revision.facts().service)) {
    counted.latency = &service->latency;
    counted.errors = service->errors;
    counted.refused = service->refused;
  }
  return counted;
}

json FrontFigures::memory() const {
  const MemoryRules* const rules = parts_.memory.rules();
  if (rules == nullptr || !rules->memory()) return {};
  const node_agent::NodeMemory& memory = *rules->memory();
  const node_agent::Decision& decision = rules->decision();
  json throttled = json::array();
  for (const node_agent::HeldThrottle& held : rules->held()) {
    const std::string replica = MemoryRules::replica_of(held.container.id);
    const ProcessService* const service =
        parts_.platform.service_of({"default", revision_of({replica})});
    json one{{"namespace", "default"},
             {"service", service == nullptr ? json{} : json(service->spec.name)},
             {"id", replica},
             {"since", autoscaler::format_time(held.since)},
             {"memory_bytes", rules->bytes_of(replica).value_or(0)},
             {"held", held.frozen},
             {"why", held.why}};
    one["quota"] = held.quota.quota_us < 0 ? json{}
                                           : json(static_cast<double>(held.quota.quota_us) /
                                                  static_cast<double>(held.quota.period_us));
    throttled.push_back(std::move(one));
  }
  return {{"capacity_bytes", memory.capacity},
          {"used_bytes", memory.used},
          {"replicas_bytes", rules->replicas_bytes()},
          {"reserve_bytes", rules->reserve_bytes()},
          {"admit_bytes", rules->admit_bytes()},
          {"growth_bytes_per_second", decision.growth_per_second},
          {"pressure", kPressures.at(static_cast<std::size_t>(decision.pressure))},
          {"some_avg10", memory.stall ? json(memory.stall->some_avg10) : json{}},
          {"why", decision.why},
          {"throttled", std::move(throttled)}};
}

json FrontFigures::not_ready(const Revision& revision) const {
  json list = json::array();
  const ProcessService* const service = parts_.platform.service_of(revision.facts().id);
  if (service == nullptr || service->removed) return list;
  const bool own = revision.facts().service != service->spec.name;
  for (const NotReady& one : service->not_ready()) {
    // Each revision that has a row of its own speaks for itself there.
    if (own ? one.revision != revision.facts().id.name : service->is_pinned(one.revision)) continue;
    Cause cause = one.cause;
    if (cause.kind == CauseKind::no_room && one.revision == revision.facts().id.name) {
      std::string room = revision.room_is_made();
      if (!room.empty()) cause.fix = std::move(room);
    }
    json entry{{"revision", one.revision},
               {"state", one.state},
               {"cause", name(cause.kind)},
               {"why", cause.sentence()}};
    if (!own) entry["serving"] = service->serving_beside(one.revision);
    list.push_back(std::move(entry));
  }
  return list;
}

void FrontFigures::complete_explanation(const Revision& revision, json& explanation) const {
  explanation["not_ready"] = not_ready(revision);
  // One of an engine before this one is on record only.
  json& cold_start = explanation["last_cold_start"];
  if (cold_start.is_null()) {
    cold_start =
        parts_.history.cold_start_at(revision.facts(), parts_.clock.now()).value_or(nullptr);
  }
  const ProcessRevision* const of = parts_.platform.revision(revision.facts().id);
  const bool sleeps = of != nullptr && of->ordered() == 0 && of->last_failure();
  explanation["last_failure"] = sleeps ? json(of->last_failure()->sentence()) : json{};
}

json FrontFigures::last_cold_start(const Revision& revision) const {
  const Service* const service = find(revision.facts().service);
  return service == nullptr || !service->last_cold_start ? json{} : *service->last_cold_start;
}

std::vector<RevisionId> FrontFigures::sharing(const RevisionId& revision) const {
  const ProcessService* const service = parts_.platform.service_of(revision);
  std::vector<RevisionId> all{revision};
  if (service == nullptr || !service->current || service->current->id() != revision) return all;
  for (const auto& each : service->pinned) all.push_back(each->id());
  return all;
}

void FrontFigures::complete_replica(const Revision& revision, const PodId& pod,
                                    json& replica) const {
  // It may be of another revision of the service.
  const RevisionId id{revision.facts().id.space, revision_of(pod)};
  const ProcessRevision* const owner = parts_.platform.revision(id);
  const Replica* const found = owner == nullptr ? nullptr : owner->replica(pod);
  if (found == nullptr) return;
  replica["pid"] = found->app_pid() > 0 ? json(found->app_pid()) : json{};
  replica["port"] = found->port();
  if (const auto why = owner->throttled(pod); why && !why->empty()) replica["why"] = *why;
  if (owner->held(pod)) replica["held"] = true;
  if (replica.contains("type")) return;
  replica["in_flight"] = parts_.requests.on_pod(id, pod);
  // The next look will see it. By itself it would be looked for among all processes of the machine,
  // and so would every other replica of a list that has just started.
  const auto seen = parts_.memory.bytes_of(pod.name);
  const bool is_looked_at = parts_.memory.last_seen() != nullptr;
  replica["memory_bytes"] = seen ? *seen : is_looked_at ? 0 : found->memory_bytes();
}

void FrontFigures::complete_place(json& place) const {
  const std::string name = place.at("name");
  const MachineGroup* const group = group_named(parts_.groups, name);
  if (group == nullptr) return;
  std::int64_t used = 0;
  for (const auto& [service, each] : parts_.platform.services()) {
    each->each([&](const ProcessRevision& revision) { used += revision.cpu_used_in(name); });
  }
  place["cores"] = group->cpus.empty() ? json{} : json(group->cpus.size());
  place["cpu_use_millicores"] = used;
}

json FrontFigures::callers(const Revision& revision) const {
  json list = json::array();
  const Service* const service = find(revision.facts().service);
  if (service == nullptr) return list;
  for (const Callers::Entry& entry : service->callers.last_minute(parts_.clock.now())) {
    list.push_back({{"client", entry.client}, {"request", entry.request}, {"count", entry.count}});
  }
  return list;
}

}  // namespace sluice::local
