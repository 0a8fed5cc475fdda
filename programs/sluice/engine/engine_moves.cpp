// Moves of replicas between places, as the engine's front door, settings and events have part in
// them.

#include "autoscaler/io/fleet_events.h"
#include "autoscaler/io/places_json.h"
#include "autoscaler/io/policies_json.h"

#include <nlohmann/json.hpp>

#include "platform/process/cores.h"
#include "programs/sluice/engine/engine.h"

namespace sluice::local {
namespace {

constexpr int kServerError = 500;

}  // namespace

// What a move is judged by: of the replicas at both places, how many of the requests fail.
void Engine::on_served(activator::RevisionHandle handle, const activator::Served& served) {
  using End = net::Outcome::End;
  figures_.served(handle, served);
  if (served.pod == nullptr) return;
  const bool cut = served.outcome.end == End::aborted;
  const bool failed = cut || served.outcome.status >= kServerError;
  mover_.served(front_.id_of(handle), served.pod->name, failed, cut);
}

autoscaler::Mover::Measured Engine::measured(const RevisionId& id) const {
  const ProcessRevision* const revision = platform_.revision(id);
  if (revision == nullptr) return {};
  return {.cpu = revision->cpu_used(), .usual_start = revision->usual_start()};
}

std::uint64_t Engine::moved(const RevisionId& id, const PodId& pod) const {
  std::uint64_t sum = 0;
  each_front_of(id, pod, [&](auto handle, const PodId& at) { sum += front_.moved(handle, at); });
  return sum;
}

// Of the settings only these may change while the engine runs.
void Engine::reload_settings(bool always) {
  if (closing_) return;
  const SettingsFile::News news = settings_file_.look(setup_.settings, always);
  for (const Problem& problem : news.problems) publish_text("error", problem.what, problem.fix);
  for (const std::string& warning : news.warnings) publish_text("warning", warning, "");
  if (news.gone) empty_groups(*news.gone);
  if (news.taken.empty()) return;
  mover_.set_rules(setup_.settings.placement);
  nlohmann::json event = autoscaler::event_json("engine", clock_.now());
  event["event"] = "settings";
  event["name"] = setup_.name;
  event["keys"] = news.taken;
  events_.publish(event);
}

// A group that the file has no more is drained first; one that is back before it has gone is not.
void Engine::empty_groups(std::set<std::string> gone) {
  leaving_groups_.swap(gone);
  const std::set<std::string>& before = gone;
  for (const std::string& name : leaving_groups_) {
    if (before.contains(name) || mover_.drain(name)) continue;
    publish_text("warning",
                 "group " + name + " is gone from the settings: it is drained, then it goes", "");
  }
  for (const std::string& name : before) {
    if (!leaving_groups_.contains(name)) (void)mover_.undrain(name);
  }
}

void Engine::remove_groups() {
  std::erase_if(leaving_groups_, [this](const std::string& name) {
    if (!mover_.let_go(name)) return false;
    platform_.site().remove(name);
    std::erase_if(setup_.settings.groups,
                  [&name](const MachineGroup& group) { return group.name == name; });
    nlohmann::json event = autoscaler::event_json("place", clock_.now());
    event["name"] = name;
    event["state"] = "gone";
    events_.publish(event);
    return true;
  });
}

ApiResult<nlohmann::json> Engine::check_policies(const std::string& yaml) {
  const auto rules = parse_placement(yaml, "the file", own_cores());
  if (!rules) {
    const Problem first = rules.error().front();
    return autoscaler::invalid_document(first.what, first.fix);
  }
  return nlohmann::json{
      {"policies", autoscaler::policies_json(*rules, mover_, placement_.ledger())}};
}

void Engine::publish_move(const placement::MoveRecord& record) {
  nlohmann::json event = autoscaler::event_json("move", clock_.now());
  event.update(autoscaler::move_json(record));
  event["namespace"] = "default";
  events_.publish(event);
}

void Engine::publish_memory() {
  const MemoryRules* const rules = memory_.last_seen();
  if (rules == nullptr || rules->decision().pressure == pressure_) return;
  pressure_ = rules->decision().pressure;
  nlohmann::json event = autoscaler::event_json("memory", clock_.now());
  event["pressure"] = std::string{node_agent::name_of(pressure_)};
  if (const nlohmann::json memory = figures_.memory(); memory.is_object()) event.update(memory);
  events_.publish(event);
}

void Engine::publish_place(const std::string& name) {
  nlohmann::json event = autoscaler::event_json("place", clock_.now());
  for (nlohmann::json& place : api_.places()) {
    if (place.at("name") != name) continue;
    place.erase("services");
    event.update(place);
  }
  events_.publish(event);
}

}  // namespace sluice::local
