#include "platform/process/process_platform.h"

#include "common/scaling/annotations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platform/process/replica_programs.h"
#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sluice::local {
namespace {

constexpr const char* kMax = "autoscaling.knative.dev/max-scale";

// A program whose port is written down has one replica, whatever its annotations ask for. Of one
// whose port was found ProcessRevision::terms() says why there are no more.
autoscaler::StringMap annotations_of(const ServiceSpec& spec, bool port_was_found) {
  autoscaler::StringMap annotations{spec.template_annotations.begin(),
                                    spec.template_annotations.end()};
  if (!spec.fixed_port) return annotations;
  const auto at_most_one = [&annotations](const char* name) {
    const auto found = autoscaler::find_annotation(annotations, name);
    if (found && found->value != "0") annotations[found->key] = "1";
  };
  at_most_one("initial-scale");
  if (port_was_found) return annotations;
  annotations[kMax] = "1";
  at_most_one("min-scale");
  return annotations;
}

}  // namespace

const char* name(Applied applied) {
  switch (applied) {
    case Applied::created:
      return "created";
    case Applied::configured:
      return "configured";
    case Applied::unchanged:
      return "unchanged";
  }
  return "unchanged";
}

ProcessPlatform::ProcessPlatform(ProcessMeans& means, const autoscaler::ClusterConfig& cluster,
                                 std::filesystem::path logs, RevisionNumbers numbers,
                                 KeptRevisions kept)
    : means_{means},
      site_{means.settings, [this](const RevisionId& id) { return revision(id); }},
      cluster_{cluster},
      logs_{std::move(logs)},
      numbers_{std::move(numbers)},
      kept_{std::move(kept)},
      turn_timer_{means.loop.timer()} {}

ProcessPlatform::~ProcessPlatform() {
  alive_.end();
}

// --- services ---

Result<autoscaler::ScalingSpec, Problem> ProcessPlatform::check(const ServiceSpec& spec) const {
  auto checked = judge(spec);
  if (!checked) return checked.error();
  return std::move(checked->scaling);
}

Result<ProcessPlatform::Checked, Problem> ProcessPlatform::judge(const ServiceSpec& spec) const {
  const autoscaler::StringMap written{spec.template_annotations.begin(),
                                      spec.template_annotations.end()};
  const auto problems = autoscaler::check_annotations(written, cluster_);
  if (!problems.empty()) {
    Problem problem = problems.front().problem;
    problem.what.insert(0, "service " + spec.name + ": ");
    return problem;
  }
  const auto find = [this](const ProgramSpec& each) {
    return each.image.empty() ? find_program_of(each)
                              : find_container_runtime(means_.settings.defaults.container_runtime);
  };
  auto program = find(spec.app());
  if (!program) return program.error();
  for (const ProgramSpec& init : spec.init) {
    if (const auto found = find(init); !found) return found.error();
  }
  if (auto problem = check_targets(spec, spec.traffic)) return *problem;
  return Checked{.scaling = autoscaler::resolve(cluster_, annotations_of(spec, false),
                                                spec.container_concurrency,
                                                autoscaler::Reachability::reachable),
                 .program = std::move(*program)};
}

const ProcessService* ProcessPlatform::find(const std::string& name) const {
  const auto found = services_.find(name);
  return found == services_.end() ? nullptr : found->second.get();
}

ProcessRevision* ProcessPlatform::revision(const RevisionId& id) const {
  const auto found = revisions_.find(id.name);
  return found == revisions_.end() ? nullptr : found->second.revision;
}

const ProcessService* ProcessPlatform::service_of(const RevisionId& id) const {
  const auto found = revisions_.find(id.name);
  return found == revisions_.end() ? nullptr : found->second.service;
}

std::unique_ptr<ProcessRevision> ProcessPlatform::make_revision(
    ProcessService& service, int number, const Checked& checked,
    std::optional<std::int32_t> initial) {
  // Of a service that was removed and forgotten some may still drain.
  while (revisions_.contains(revision_name(service.spec.name, number))) {
    number = numbers_.next(service.spec.name, template_hash(service.spec));
  }
  ProcessRevision::Facts facts{.name = revision_name(service.spec.name, number),
                               .number = number,
                               .spec = service.spec,
                               .program = checked.program,
                               .initial = initial,
                               .keeps_some = checked.scaling.bounds.min > 0};
  // Its program will most likely listen where the one before it does.
  const bool found = service.current && service.current->port_was_found() &&
                     !service.spec.fixed_port &&
                     service.spec.container_port == service.current->spec().fixed_port;
  if (found) {
    facts.spec.fixed_port = facts.spec.container_port;
    facts.port_was_found = true;
  }
  auto made = std::make_unique<ProcessRevision>(means_, *this, *service.log, std::move(facts));
  revisions_.emplace(made->name(), Known{made.get(), &service});
  return made;
}

Result<Applied, Problem> ProcessPlatform::put(const ServiceSpec& spec) {
  const auto checked = judge(spec);
  if (!checked) return checked.error();
  auto& service = services_[spec.name];
  if (!spec.traffic.empty()) (void)kept_.choose(spec.name, {});
  if (!service) {
    service = std::make_unique<ProcessService>();
    service->spec = spec;
    service->log = std::make_unique<ServiceLog>(
        logs_, spec.name,
        [this, name = spec.name](const std::string& text) {
          means_.events.problem("warning", name, text, "");
        },
        FileLimits{}, &full_disk_);
    const int following = numbers_.following(spec.name);
    const int number = begin_first(*service, *checked);
    if (number >= following || !kept_.has(spec.name, number)) {
      kept_.keep(number, spec, means_.loop.now());
    }
    settle(*service);
    report_namesake(spec.name);
    return Applied::created;
  }
  const bool same_template = template_hash(spec) == service->newest().written_hash();
  if (same_template && spec == service->spec) return Applied::unchanged;
  const ServiceSpec before = std::exchange(service->spec, spec);
  const auto given_up = std::exchange(service->given_up, std::nullopt);
  if (same_template) {
    numbers_.again(spec.name, service->newest().number(), template_hash(spec));
    const bool keeps_some = checked->scaling.bounds.min > 0;
    service->current->update(spec, keeps_some);
    if (service->next) service->next->update(spec, keeps_some);
  } else {
    // With what was changed live since it was made.
    if (template_hash(before) == service->newest().written_hash()) {
      kept_.keep(service->newest().number(), before, means_.loop.now());
    }
    begin_next(*service, *checked, given_up ? given_up->revision : std::string{});
    return spec == before ? Applied::unchanged : Applied::configured;
  }
  settle(*service);
  return Applied::configured;
}

// Where the newest was given up before a restart, what served in its place does so again, and the
// newest is tried once more beside it.
int ProcessPlatform::begin_first(ProcessService& service, const Checked& checked) {
  const std::string& name = service.spec.name;
  const int number = numbers_.first(name, template_hash(service.spec));
  const int serving = numbers_.serving(name);
  if (serving > 0) service.current = revive(service, revision_name(name, serving));
  auto& place = service.current ? service.next : service.current;
  place =
      make_revision(service, number, checked, service.current ? std::optional{1} : std::nullopt);
  return place->number();
}

// With as many replicas as the one that serves has ready, so that it can take all of its requests;
// and at least with its initial scale. Two of one fixed port
// cannot run together: the new one takes over at once, and its requests are held until the old one
// has drained. One that was given up is tried again when its template is given again.
void ProcessPlatform::begin_next(ProcessService& service, const Checked& checked,
                                 const std::string& given_up) {
  if (service.next) retire_next(service);
  ProcessRevision::Counts now = service.current->counts();
  if (const std::int32_t beside = service.current->beside(); beside > 0) {
    now.ready = std::min(now.ready, service.current->ordered() - beside);
  }
  for (const auto& old : service.retiring) now.ready += old->counts().ready;
  const bool awake = now.ready + now.starting > 0;
  const int number = numbers_.first(service.spec.name, template_hash(service.spec));
  const std::string name = revision_name(service.spec.name, number);
  const bool follows = follows_latest(wanted_traffic(service.spec), name);
  const bool again = name == given_up;
  std::optional<std::int32_t> initial;
  const std::int32_t wanted = std::max(checked.scaling.decider.initial_scale,
                                       checked.scaling.bounds.min > 0 || again ? 1 : 0);
  if (follows && awake) initial = std::max({1, now.ready, wanted});
  if ((follows && !awake) || (again && !follows)) initial = wanted;
  const bool starts = wanted > 0 || (follows && awake);
  service.next = make_revision(service, number, checked, initial);
  kept_.keep(service.next->number(), service.spec, means_.loop.now());
  const auto& port = service.next->spec().fixed_port;
  if (starts && !(port && port == service.current->spec().fixed_port)) return settle(service);
  report(service, *service.next);
  take_over(service);
}

void ProcessPlatform::retire_next(ProcessService& service) {
  service.retiring.push_back(std::move(service.next));
  service.retiring.back()->retire();
}

// The new one first: what waits for the old one waits for it then.
void ProcessPlatform::take_over(ProcessService& service) {
  numbers_.gave_up(service.spec.name, 0);
  service.took_place_of = service.current->name();
  service.retiring.push_back(std::move(service.current));
  service.current = std::move(service.next);
  settle(service);
  share_out(service);
}

// One old replica goes for each new one that is ready; those that stay share the requests. What the
// new revision no longer wants for want of load, no old one has to make good.
void ProcessPlatform::share_out(ProcessService& service) {
  const ProcessRevision& next = *service.current;
  const bool alone =
      service.removed || next.spec().fixed_port || next.retired() || service.percent_of(next) == 0;
  std::int32_t missing = alone ? 0 : std::max(0, next.ordered() - next.counts().ready);
  for (auto old = service.retiring.rbegin(); old != service.retiring.rend(); ++old) {
    if ((*old)->retired()) continue;
    const std::int32_t kept = std::min(missing, (*old)->counts().ready);
    missing -= kept;
    (*old)->hand_over(kept);
  }
}

bool ProcessPlatform::remove(const std::string& name) {
  const auto found = services_.find(name);
  if (found == services_.end()) return false;
  ProcessService& service = *found->second;
  service.removed = true;
  numbers_.removed(name);
  removed_.push_back(std::move(found->second));
  services_.erase(found);
  report_namesake(name);
  kept_.forget(name);
  if (service.next) retire_next(service);
  service.shares.clear();
  service.current->retire();
  share_out(service);
  report(service, *service.current);
  for (auto& each : std::exchange(service.pinned, {})) {
    each->retire();
    service.retiring.push_back(std::move(each));
    report(service, *service.retiring.back());
  }
  return true;
}

void ProcessPlatform::tick() {
  for (const auto& [name, known] : revisions_) known.revision->tick();
}

void ProcessPlatform::stop_all(bool kill) {
  for (const auto& [name, known] : revisions_) known.revision->stop_all(kill);
}

Duration ProcessPlatform::longest_grace() const {
  Duration longest{0};
  for (const auto& [name, known] : revisions_)
    longest = std::max(longest, known.revision->spec().stop_grace);
  return longest;
}

// --- what revisions say ---

ProcessService& ProcessPlatform::owner_of(const ProcessRevision& revision) const {
  return *revisions_.at(revision.name()).service;
}

void ProcessPlatform::on_changed(ProcessRevision& revision) {
  report_soon(revision.name());
}

void ProcessPlatform::on_ready(ProcessRevision& revision) {
  ProcessService& service = owner_of(revision);
  // In the same turn, so that a request that was held for it is sent on at once.
  if (service.next.get() == &revision) {
    take_over(service);
  } else {
    report(service, revision);
    if (service.current.get() == &revision) share_out(service);
  }
}

void ProcessPlatform::on_failing(ProcessRevision& revision) {
  ProcessService& service = owner_of(revision);
  if (service.next.get() != &revision) return;
  const Cause cause = revision.last_failure().value_or(Cause{});
  service.given_up = NotReady{revision.name(), "given_up", cause};
  numbers_.gave_up(service.spec.name, service.current->number());
  const auto serving = service.serving_beside(revision.name());
  const std::string rest = serving.empty()
                               ? ""
                               : fmt::format("; {} {} serving", fmt::join(serving, ", "),
                                             serving.size() == 1 ? "keeps" : "keep");
  means_.events.problem(
      "error", service.spec.name,
      "revision " + revision.name() + " does not start: " + cause.sentence() + rest,
      "see `sluice logs " + service.spec.name + "`, correct the spec and apply it again");
  retire_next(service);
}

void ProcessPlatform::on_pace() {
  if (std::exchange(turn_posted_, true)) return;
  means_.loop.post([this, alive = alive_.watch()] {
    if (alive.over()) return;
    turn_posted_ = false;
    give_turn();
  });
}

// One revision in a turn of the loop, so that requests are served between two of them.
void ProcessPlatform::give_turn() {
  if (const auto name = means_.pace.next(means_.loop.now())) {
    const auto found = revisions_.find(*name);
    if (found != revisions_.end()) found->second.revision->resume();
    on_pace();
  } else if (const auto due = means_.pace.due(means_.loop.now())) {
    turn_timer_->at(*due, [this] { give_turn(); });
  }
}

bool ProcessPlatform::waits_for_others(const ProcessRevision& revision) const {
  const ProcessService& service = owner_of(revision);
  if (service.next.get() == &revision && service.current->shifting()) return true;
  const auto& port = revision.spec().fixed_port;
  if (!port) return false;
  return std::any_of(revisions_.begin(), revisions_.end(), [&](const auto& each) {
    const ProcessRevision& other = *each.second.revision;
    const bool replaced = &other != &revision && each.second.service == &service;
    return other.spec().fixed_port == port && (other.drains() || (replaced && !other.empty()));
  });
}

void ProcessPlatform::report_soon(const std::string& revision) {
  changed_.insert(revision);
  const auto known = revisions_.find(revision);
  if (known != revisions_.end() && known->second.revision->spec().fixed_port) {
    fixed_port_changed_ = true;
  }
  if (std::exchange(flush_posted_, true)) return;
  means_.loop.post([this, alive = alive_.watch()] {
    if (alive.over()) return;
    flush_posted_ = false;
    flush();
  });
}

void ProcessPlatform::flush() {
  for (const std::string& name : std::exchange(changed_, {})) {
    const auto found = revisions_.find(name);
    if (found == revisions_.end()) continue;
    const auto [revision, service] = found->second;
    if (service->current) share_out(*service);
    report(*service, *revision);
    // It may have waited for the end of a move.
    if (service->next && revision == service->current.get()) service->next->resume();
    if (revision->retired() && revision->empty()) bury(*service);
  }
  if (!std::exchange(fixed_port_changed_, false)) return;
  // One may have waited for the port of another.
  for (const auto& [name, known] : revisions_) {
    if (known.revision->spec().fixed_port) known.revision->demand();
  }
}

// One that shares the requests of its successor is no pod of that one any more before it is
// stopped.
void ProcessPlatform::report(ProcessService& service, ProcessRevision& revision) {
  revision.begin_report();
  const bool shares = &revision != service.current.get() && &revision != service.next.get() &&
                      !service.is_pinned(revision);
  if (shares && service.current && !service.removed) tell(service, *service.current);
  tell(service, revision);
  revision.reported();
}

void ProcessPlatform::tell(ProcessService& service, const ProcessRevision& revision,
                           const std::string& replaces) {
  model::Revision model = revision.model();
  model.annotations = annotations_of(revision.spec(), revision.port_was_found());
  const bool is_current = service.current.get() == &revision;
  model.in_service = (is_current || service.is_pinned(revision)) && !service.removed;
  if (model.in_service) {
    if (!is_current) model.service = name_beside(service, revision);
    take_share(service, revision, model);
    model.replaces = !replaces.empty() ? replaces : is_current ? service.took_place_of : "";
  }
  if (model.in_service && is_current) {
    for (const auto& old : service.retiring) {
      if (old->retired()) continue;
      for (model::Pod& pod : old->serving()) model.shared.push_back(std::move(pod));
    }
  }
  if (listener_ != nullptr) listener_->on_revision(std::move(model));
}

// Its own, unless a service has that: no revision hides a service.
std::string ProcessPlatform::name_beside(const ProcessService& service,
                                         const ProcessRevision& revision) const {
  return services_.contains(revision.name()) ? long_name(service.spec.name, revision.name())
                                             : revision.name();
}

// A service of that name comes or goes.
void ProcessPlatform::report_namesake(const std::string& name) {
  const auto known = revisions_.find(name);
  if (known != revisions_.end()) report(*known->second.service, *known->second.revision);
}

void ProcessPlatform::bury(ProcessService& service) {
  const auto bury_one = [this](std::unique_ptr<ProcessRevision>& revision) {
    if (!revision || !revision->retired() || !revision->empty()) return false;
    revisions_.erase(revision->name());
    const RevisionId id = revision->id();
    revision.reset();
    if (listener_ != nullptr) listener_->on_revision_gone(id);
    return true;
  };
  std::erase_if(service.retiring, bury_one);
  bury_one(service.current);
  const bool empty =
      !service.current && !service.next && service.pinned.empty() && service.retiring.empty();
  if (!empty) return;
  std::erase_if(removed_, [&service](const auto& each) { return each.get() == &service; });
}

// --- the engine's way to the world ---

std::optional<Problem> ProcessPlatform::open(model::Listener& listener, TimePoint /*now*/,
                                             Settled settled) {
  listener_ = &listener;
  const autoscaler::StringMap keys{means_.settings.autoscaler.begin(),
                                   means_.settings.autoscaler.end()};
  if (auto problem = listener.on_config(keys)) return problem;
  settled(std::nullopt);
  return std::nullopt;
}

std::optional<autoscaler::ScaleOrder> ProcessPlatform::last(const RevisionId& /*revision*/) {
  return std::nullopt;
}

void ProcessPlatform::apply(const RevisionId& id, const autoscaler::ScaleOrder& order) {
  if (ProcessRevision* const found = revision(id)) found->order(order);
}

// The front door of one machine is always an activator.
void ProcessPlatform::probe(const RevisionId& /*revision*/, std::function<void(bool ok)> done) {
  means_.loop.post([done = std::move(done)] { done(true); });
}

// --- placement ---

bool ProcessPlatform::throttled(const std::string& space, const std::string& pod,
                                const std::string& /*node*/) const {
  const ProcessRevision* const found = revision({space, revision_of({pod})});
  return found != nullptr && found->throttled({pod}).has_value();
}

}  // namespace sluice::local
