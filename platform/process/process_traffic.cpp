// The part of the process platform about the revisions of a service: which are ready, and how its
// requests are divided among them.

#include <fmt/format.h>

#include "platform/process/process_platform.h"
#include <algorithm>
#include <utility>

namespace sluice::local {

std::vector<NotReady> ProcessService::not_ready() const {
  std::vector<NotReady> all;
  if (given_up) all.push_back(*given_up);
  std::vector<const ProcessRevision*> looked_at{next.get(), current.get()};
  for (const auto& each : pinned) looked_at.push_back(each.get());
  for (const ProcessRevision* revision : looked_at) {
    if (revision == nullptr) continue;
    auto cause = revision->not_ready();
    // One that is to take over is not asleep, even before its first replica is ordered.
    if (!cause && revision == next.get()) {
      cause = Cause{.what = current->shifting()
                                ? "it starts when " + current->name() + " has been moved"
                                : "its first replica is not started"};
    }
    const bool failed = cause && (revision->failing() || revision->last_failure() == cause);
    const bool is_known = cause && (failed || cause->kind != CauseKind::starting);
    if (auto restarts = is_known ? std::nullopt : revision->restarts()) {
      all.push_back({revision->name(), "restarting", std::move(*restarts)});
      continue;
    }
    if (!cause) {
      if (auto shortage = revision->shortage()) {
        all.push_back({revision->name(), "short", std::move(*shortage)});
      }
      continue;
    }
    all.push_back({revision->name(), failed ? "failing" : "starting", std::move(*cause)});
  }
  return all;
}

bool ProcessService::is_pinned(std::string_view revision) const {
  return std::any_of(pinned.begin(), pinned.end(),
                     [revision](const auto& each) { return each->name() == revision; });
}

// One that sleeps answers too: it wakes.
std::vector<std::string> ProcessService::serving_beside(std::string_view other) const {
  std::vector<std::string> names;
  each([&](const ProcessRevision& revision) {
    const bool answers = revision.counts().ready > 0 || !revision.not_ready();
    if (percent_of(revision) > 0 && answers) names.push_back(revision.name());
  });
  if (std::find(names.begin(), names.end(), other) != names.end()) names.clear();
  return names;
}

// A name that the spec's revision does not have yet may be in its traffic too.
std::optional<Problem> ProcessPlatform::check_targets(const ServiceSpec& spec,
                                                      const Traffic& traffic) const {
  if (traffic.empty()) return std::nullopt;
  if (auto problem = check_traffic(traffic, spec.name)) return problem;
  const ProcessService* const service = find(spec.name);
  const std::string hash = template_hash(spec);
  const bool is_newest = service != nullptr && hash == service->newest().written_hash();
  const int latest = is_newest ? service->newest().number() : numbers_.expected(spec.name, hash);
  const std::string newest = revision_name(spec.name, latest);
  std::vector<std::string> known;
  for (const int number : kept_.numbers(spec.name)) {
    if (number != latest) known.push_back(revision_name(spec.name, number));
  }
  known.push_back(newest);
  if (auto problem = check_names(traffic, spec.name, known)) return problem;
  if (!spec.fixed_port || shares_of(traffic, newest).size() == 1) return std::nullopt;
  return Problem{
      fmt::format("service {}: two revisions cannot listen on the fixed port {} together",
                  spec.name, *spec.fixed_port),
      "give all traffic to one revision, or let the program listen on $PORT"};
}

const Traffic& ProcessPlatform::wanted_traffic(const ServiceSpec& spec) const {
  return spec.traffic.empty() ? kept_.traffic(spec.name) : spec.traffic;
}

std::optional<Problem> ProcessPlatform::check_traffic_of(const std::string& name,
                                                         const Traffic& traffic) const {
  return check_targets(services_.at(name)->spec, traffic);
}

// One that has no requests yet and does not start is not to get any.
std::optional<Problem> ProcessPlatform::check_it_starts(const ProcessService& service,
                                                        const Traffic& traffic) const {
  for (const auto& [revision, share] : shares_of(traffic, service.current->name())) {
    const auto now = service.shares.find(revision);
    if (share.percent == 0 || (now != service.shares.end() && now->second.percent > 0)) continue;
    std::optional<Cause> cause;
    const auto known = revisions_.find(revision);
    if (service.given_up && service.given_up->revision == revision) {
      cause = service.given_up->cause;
    } else if (known != revisions_.end() && known->second.revision->failing()) {
      cause = known->second.revision->last_failure();
    }
    if (!cause) continue;
    return Problem{"revision " + revision + " does not start: " + cause->sentence(),
                   "correct the spec and apply it again, or choose another revision"};
  }
  return std::nullopt;
}

std::optional<Problem> ProcessPlatform::choose_traffic(const std::string& name, Traffic traffic) {
  if (auto problem = check_traffic_of(name, traffic)) return problem;
  ProcessService& service = *services_.at(name);
  if (auto problem = check_it_starts(service, traffic)) return problem;
  if (auto problem = kept_.choose(name, std::move(traffic))) {
    problem->what.insert(0, "cannot keep the traffic of " + name + ": ");
    return problem;
  }
  settle(service);
  return std::nullopt;
}

// Brings revisions and their shares in line with the traffic that is wanted, and reports them all.
// Traffic that names a revision which is not ready yet waits for it, as what serves does.
void ProcessPlatform::settle(ProcessService& service) {
  const Traffic& wanted = wanted_traffic(service.spec);
  const bool waits = (service.next && names_revision(wanted, service.next->name())) ||
                     (service.given_up && names_revision(wanted, service.given_up->revision));
  if (!waits) service.traffic = wanted;
  service.shares = shares_of(service.traffic, service.current->name());
  for (auto share = service.shares.begin(); share != service.shares.end();) {
    if (share->first == service.current->name() || pin(service, share->first)) {
      ++share;
      continue;
    }
    means_.events.problem("warning", service.spec.name,
                          "revision " + share->first +
                              " has traffic and is not kept any more; the others get its requests",
                          "see `sluice revisions " + service.spec.name + "`");
    share = service.shares.erase(share);
  }
  const bool divided = std::any_of(service.shares.begin(), service.shares.end(),
                                   [](const auto& each) { return each.second.percent > 0; });
  if (!divided) service.shares[service.current->name()].percent = 100;
  if (service.shares.contains(service.took_place_of)) service.took_place_of.clear();
  report(service, *service.current);
  if (service.next) report(service, *service.next);
  for (const auto& each : service.pinned) report(service, *each);
  unpin(service);
  forget_unused(service);
}

// The revision runs beside the current one from now on. False: it is not kept.
bool ProcessPlatform::pin(ProcessService& service, const std::string& revision) {
  const auto is_it = [&revision](const auto& each) { return each->name() == revision; };
  auto& pinned = service.pinned;
  if (std::any_of(pinned.begin(), pinned.end(), is_it)) return true;
  auto& retiring = service.retiring;
  if (const auto old = std::find_if(retiring.begin(), retiring.end(), is_it);
      old != retiring.end()) {
    (*old)->take_back();
    pinned.push_back(std::move(*old));
    retiring.erase(old);
    return true;
  }
  auto made = revive(service, revision);
  if (!made) return false;
  pinned.push_back(std::move(made));
  return true;
}

// What waits for one that loses its share waits for the one with the greatest share then.
void ProcessPlatform::unpin(ProcessService& service) {
  std::vector<std::string> gone;
  for (auto& each : service.pinned) {
    if (service.shares.contains(each->name())) continue;
    gone.push_back(each->name());
    each->retire();
    service.retiring.push_back(std::move(each));
  }
  std::erase(service.pinned, nullptr);
  for (const std::string& name : gone) {
    tell(service, greatest_share(service), name);
    report(service, *revisions_.at(name).revision);
  }
}

ProcessRevision& ProcessPlatform::greatest_share(const ProcessService& service) const {
  ProcessRevision* best = service.current.get();
  for (const auto& each : service.pinned) {
    if (service.percent_of(*each) > service.percent_of(*best)) best = each.get();
  }
  return *best;
}

// An older revision from its spec. A program that is not there any more is a start that fails, and
// no reason to change what others get.
std::unique_ptr<ProcessRevision> ProcessPlatform::revive(ProcessService& service,
                                                         const std::string& revision) {
  const int number = revision_number(service.spec.name, revision);
  auto spec = kept_.spec(service.spec.name, number);
  if (!spec || revisions_.contains(revision)) return nullptr;
  const auto checked = judge(*spec);
  ProcessRevision::Facts facts{.name = revision,
                               .number = number,
                               .spec = std::move(*spec),
                               .program = checked ? checked->program : std::filesystem::path{},
                               .initial = 0,
                               .keeps_some = checked && checked->scaling.bounds.min > 0};
  if (!checked && facts.spec.image.empty()) facts.program = facts.spec.command.front();
  auto made = std::make_unique<ProcessRevision>(means_, *this, *service.log, std::move(facts));
  revisions_.emplace(made->name(), Known{made.get(), &service});
  return made;
}

void ProcessPlatform::forget_unused(const ProcessService& service) {
  const std::string& name = service.spec.name;
  std::set<int> named;
  for (const Traffic* traffic : {&wanted_traffic(service.spec), &service.traffic}) {
    for (const TrafficTarget& target : *traffic) {
      if (!target.revision.empty()) named.insert(revision_number(name, target.revision));
    }
  }
  std::set<int> used = named;
  used.insert({service.current->number(), service.newest().number()});
  for (const auto& [revision, share] : service.shares) used.insert(revision_number(name, revision));
  kept_.settle(name, used, named);
}

// The latest revision may have no share of the requests; then nothing keeps it awake, and a fixed
// port is left to the one that has them.
void ProcessPlatform::take_share(const ProcessService& service, const ProcessRevision& revision,
                                 model::Revision& model) {
  const auto found = service.shares.find(revision.name());
  if (found == service.shares.end()) {
    model.reachability = autoscaler::Reachability::unreachable;
    if (revision.spec().fixed_port) model.chosen = 0;
    return;
  }
  const RevisionShare& share = found->second;
  const ServiceSpec& spec = service.spec;
  if (share.percent > 0) {
    model.hosts.push_back({.host = spec.name + ".localhost", .path_prefix = {}});
    model.hosts.insert(model.hosts.end(), spec.hosts.begin(), spec.hosts.end());
    if (share.percent < 100) model.percent = share.percent;
  }
  for (const std::string& tag : share.tags) {
    for (model::HostRule& rule : tag_hosts(tag, spec.name, spec.hosts)) {
      model.own_hosts.push_back(std::move(rule));
    }
  }
}

}  // namespace sluice::local
