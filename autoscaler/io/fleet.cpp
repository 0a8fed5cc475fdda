#include "autoscaler/io/fleet.h"

#include "autoscaler/core/activators/pushed_stat.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::autoscaler {
namespace {

// What its objects say of it, as against what runs of it.
bool is_other_spec(const model::Revision& before, const model::Revision& now) {
  const auto said = [](const model::Revision& revision) {
    return std::tie(revision.annotations, revision.container_concurrency, revision.hosts,
                    revision.protocol, revision.timeout, revision.response_start_timeout,
                    revision.idle_timeout, revision.chosen, revision.claim_memory,
                    revision.claim_cpu);
  };
  return said(before) != said(now);
}

template <class Pointer>
auto place_of(std::vector<Pointer>& list, const RevisionId& id) {
  return std::lower_bound(
      list.begin(), list.end(), id,
      [](const Revision* each, const RevisionId& other) { return each->facts().id < other; });
}

}  // namespace

Revision* Fleet::find(const RevisionId& id) const {
  const auto found = revisions_.find(id);
  return found == revisions_.end() ? nullptr : found->second.get();
}

// Pods matter more than settings: a revision with a wrong annotation is scaled without it.
ResolvedScaling Fleet::spec_of(const model::Revision& revision, bool tell) const {
  StringMap annotations = revision.annotations;
  for (const AnnotationProblem& wrong : check_annotations(annotations, config_)) {
    for (const std::string& key : wrong.keys) annotations.erase(key);
    if (!tell) continue;
    around_.log.write(log::Severity::error, "an annotation is invalid and ignored",
                      {{"revision", revision.id.space + "/" + revision.id.name},
                       {"problem", wrong.problem.what},
                       {"fix", wrong.problem.fix}});
    around_.events.warn(revision, "an annotation is invalid and ignored: " + wrong.problem.what,
                        wrong.problem.fix);
  }
  ResolvedScaling scaling{
      resolve(config_, annotations, revision.container_concurrency, revision.reachability)};
  if (around_.recordings != nullptr) {
    scaling.given = std::make_shared<const GivenScaling>(
        GivenScaling{.config = config_,
                     .annotations = scaling_annotations(annotations),
                     .container_concurrency = revision.container_concurrency,
                     .reachability = revision.reachability});
  }
  return scaling;
}

void Fleet::on_revision(model::Revision watched) {
  Revision* const known = find(watched.id);
  const bool tell = known == nullptr || known->facts().annotations != watched.annotations;
  const ResolvedScaling scaling = spec_of(watched, tell);
  if (known != nullptr) {
    const bool other = is_other_spec(known->facts(), watched);
    const std::string service = known->facts().service;
    const bool in_service = known->facts().in_service;
    known->update(std::move(watched), scaling);
    if (other) around_.events.spec_changed(*known);
    const model::Revision& facts = known->facts();
    if (facts.service == service && facts.in_service == in_service) return;
    unlist(facts.id, service, in_service);
    list(*known);
    return;
  }
  const RevisionId id = watched.id;
  auto revision = std::make_unique<Revision>(around_, std::move(watched), scaling);
  if (!revision->registered()) {
    around_.log.write(log::Severity::error, "there are too many revisions; this one is not scaled",
                      {{"revision", id.space + "/" + id.name}});
    return;
  }
  list(*revision);
  revisions_.emplace(id, std::move(revision));
}

void Fleet::list(Revision& revision) {
  const model::Revision& facts = revision.facts();
  std::vector<Revision*>& others = by_service_[{facts.id.space, facts.service}];
  others.insert(place_of(others, facts.id), &revision);
  if (facts.in_service) serving_.insert(place_of(serving_, facts.id), &revision);
}

void Fleet::unlist(const RevisionId& id, const std::string& service, bool in_service) {
  const auto found = by_service_.find({id.space, service});
  found->second.erase(place_of(found->second, id));
  if (found->second.empty()) by_service_.erase(found);
  if (in_service) serving_.erase(place_of(serving_, id));
}

const std::vector<Revision*>& Fleet::of_service(const std::string& space,
                                                const std::string& service) const {
  static const std::vector<Revision*> kNone;
  const auto found = by_service_.find({space, service});
  return found == by_service_.end() ? kNone : found->second;
}

bool Fleet::drop(const RevisionId& revision, std::string_view what) {
  const auto found = revisions_.find(revision);
  if (found == revisions_.end()) return false;
  around_.events.gone(*found->second, what);
  unlist(revision, found->second->facts().service, found->second->facts().in_service);
  revisions_.erase(found);
  around_.hub.remove(revision, around_.clock.now());
  around_.placement.forget(revision);
  around_.news();
  return true;
}

void Fleet::on_revision_gone(const RevisionId& revision) {
  if (drop(revision, "removed")) around_.platform.forget(revision);
}

// What was ordered stays in force until its next owner orders something else.
void Fleet::on_revision_released(const RevisionId& revision) {
  drop(revision, "released");
}

std::optional<Problem> Fleet::on_config(const StringMap& config) {
  const auto parsed = parse_cluster_config(config);
  if (!parsed) return parsed.error();
  if (*parsed == config_) return std::nullopt;
  config_ = *parsed;
  for (const auto& [id, revision] : revisions_) {
    revision->update(spec_of(revision->facts(), false));
  }
  if (!revisions_.empty()) around_.log.write(log::Severity::info, "the configuration has changed");
  return std::nullopt;
}

void Fleet::heard(const ActivatorHub::Heard& heard) {
  for (const ActivatorHub::PushedStat& pushed : heard.stats) {
    around_.loop.push(pushed.revision, pushed.stat, pushed.stamp, StatDoor::stream, pushed.newest);
  }
  for (const auto& poke : heard.pokes) {
    if (Revision* const revision = find(poke.revision)) {
      around_.loop.push(poke.revision,
                        {.average_concurrency = poke.concurrency, .request_count = 0}, std::nullopt,
                        StatDoor::stream);
      revision->evaluate(Trigger::poke);
    }
  }
  for (const auto& held : heard.held) {
    if (Revision* const revision = find(held.revision)) revision->heed_held(held.oldest);
  }
  if (heard.applied) {
    if (Revision* const revision = find(*heard.applied)) revision->on_applied();
  }
  if (heard.cold_start) {
    if (const Revision* const revision = find(heard.cold_start->revision)) {
      around_.events.cold_start(*revision, *heard.cold_start);
      note_cold_start(heard.cold_start->revision, *heard.cold_start);
    }
  }
}

void Fleet::note_cold_start(const RevisionId& id, const proto::ColdStart& took) {
  const Revision* const revision = find(id);
  Recording* const recording = revision != nullptr ? revision->recording() : nullptr;
  if (recording == nullptr) return;
  ColdStartNote note{.at = around_.clock.now(), .took = took};
  note.took.revision = {};
  note.took.pod.clear();
  recording->note(note);
}

void Fleet::room_changed() {
  for (const auto& [id, revision] : revisions_) revision->on_room_changed();
}

void Fleet::pushed(std::span<const proto::StatMessage> messages) {
  for (const proto::StatMessage& message : messages) {
    around_.loop.push(message.revision, figures_of(message.stat), stamp_of(message.stat),
                      StatDoor::websocket);
  }
}

}  // namespace sluice::autoscaler
