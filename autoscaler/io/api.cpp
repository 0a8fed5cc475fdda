#include "autoscaler/io/api.h"

#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/places_json.h"
#include "autoscaler/io/service_status.h"
#include "autoscaler/io/status_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace sluice::autoscaler {
namespace {

using http::ApiProblem;
using nlohmann::json;

constexpr std::size_t kNamesShown = 20;

json keeps_awake(const Revision& revision) {
  json list = json::array();
  for (const Revision::PodFacts& pod : revision.pods()) {
    if (pod.load.value_or(0) <= 0) continue;
    list.push_back(
        {{"client", pod.watched.id.name}, {"request", "in flight"}, {"count", *pod.load}});
  }
  return list;
}

}  // namespace

json ServicesApi::service_list(std::size_t begin, std::size_t end) {
  json list = json::array();
  for (const RevisionId& id : listed(begin, end)) list.push_back(status_of(id));
  return list;
}

json Api::status(const Revision& revision) const {
  return service_status(revision, parts_.fleet, parts_.front,
                        parts_.seen.last_cold_start(revision));
}

std::size_t Api::service_count() {
  return parts_.fleet.serving().size();
}

std::vector<RevisionId> Api::listed(std::size_t begin, std::size_t end) {
  std::vector<RevisionId> page;
  for (std::size_t i = begin; i < end; ++i) page.push_back(parts_.fleet.serving()[i]->facts().id);
  return page;
}

json Api::status_of(const RevisionId& revision) {
  const auto found = parts_.fleet.revisions().find(revision);
  return found == parts_.fleet.revisions().end() ? json{} : status(*found->second);
}

json Api::nodes() {
  if (parts_.nodes == nullptr) return {};
  json list = json::array();
  for (const auto& [name, node] : parts_.nodes->nodes()) list.push_back(node_json(name, node));
  return list;
}

json Api::config() {
  return config_json(parts_.fleet.config());
}

json Api::version() {
  json activators = json::array();
  for (const ActivatorHub::Seen& seen : parts_.hub.activators()) {
    activators.push_back({{"name", seen.activator},
                          {"address", seen.address},
                          {"version", seen.version},
                          {"heard", format_time(seen.heard)}});
  }
  json version = {{"name", facts_.name},
                  {"version", facts_.version},
                  {"platform", facts_.platform},
                  {"started", format_time(facts_.started)},
                  {"revisions", parts_.fleet.revisions().size()},
                  {"activators", std::move(activators)}};
  if (parts_.front != nullptr) parts_.front->complete_version(version);
  return version;
}

// By the name of its service, else by its own: no revision hides a service. Of several revisions of
// one service the one that most is wanted of. One that only drains is no service.
Revision* Api::find(const ServiceName& name) const {
  Revision* best = nullptr;
  for (Revision* const each : parts_.fleet.of_service(name.space, name.name)) {
    const model::Revision& facts = each->facts();
    if (facts.retired) continue;
    const bool better = best == nullptr || !best->facts().in_service ||
                        (facts.in_service && each->want() >= best->want());
    if (better) best = each;
  }
  if (best != nullptr) return best;
  const auto own = parts_.fleet.revisions().find({name.space, name.name});
  return own == parts_.fleet.revisions().end() ? nullptr : own->second.get();
}

ApiProblem Api::no_such_service(const ServiceName& name) const {
  std::string known;
  std::size_t shown = 0;
  for (const Revision* const each : parts_.fleet.serving()) {
    if (++shown > kNamesShown) break;
    const model::Revision& facts = each->facts();
    known += (known.empty() ? "" : ", ") + facts.id.space + "/" + facts.service;
  }
  std::string fix = known.empty() ? "there are none yet" : "there are " + known;
  const std::string holder =
      parts_.elsewhere ? parts_.elsewhere({name.space, name.name}) : std::string{};
  if (!holder.empty()) fix = "if it exists, autoscaler " + holder + " governs it; here " + fix;
  return {404, "no-such-service", "No such service",
          "there is no service " + name.space + "/" + name.name, std::move(fix)};
}

ApiResult<json> Api::service(const ServiceName& name) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return no_such_service(name);
  return status(*revision);
}

ApiResult<std::unique_ptr<KeptRecords>> Api::history(const ServiceName& name, TimePoint since) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return no_such_service(name);
  return parts_.history.decisions(revision->facts(), since);
}

json Api::not_kept(const ServiceName& name, TimePoint since) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return json::array();
  return json(parts_.history.not_kept(revision->facts(), since));
}

ApiResult<json> Api::explain(const ServiceName& name, std::optional<TimePoint> at) {
  const Revision* const revision = find(name);
  if (revision == nullptr) return no_such_service(name);
  const model::Revision& facts = revision->facts();
  if (at) {
    auto kept = parts_.history.decision_at(facts, *at);
    if (!kept) {
      return ApiProblem{404, "no-decision", "No decision",
                        "no decision was kept from before " + format_time(*at),
                        "give a later time; sluice history " + name.name + " lists what is kept"};
    }
    (*kept)["last_cold_start"] = parts_.history.cold_start_at(facts, *at).value_or(nullptr);
    return std::move(*kept);
  }
  json answer = explained_json(revision->last(), about(facts));
  answer["ready_now"] = revision->counts().ready;
  if (const auto* const move = revision->moving()) answer["moving"] = moving_json(*move);
  if (const std::string first = parts_.placement.first_place(facts.id); !first.empty()) {
    answer["first_place"] = first;
  }
  explain_places(*revision, answer);
  answer["last_cold_start"] = parts_.seen.last_cold_start(*revision);
  answer["keeps_awake"] =
      parts_.front != nullptr ? parts_.front->callers(*revision) : keeps_awake(*revision);
  if (parts_.front != nullptr) parts_.front->complete_explanation(*revision, answer);
  return answer;
}

// What was chosen by hand elsewhere stays so.
ApiResult<Revision*> Api::find_to_change(const ServiceName& name) const {
  Revision* const revision = find(name);
  if (revision == nullptr) return no_such_service(name);
  if (const auto& chosen = revision->facts().chosen) {
    return ApiProblem{409, "chosen-by-hand", "Chosen by hand",
                      name.space + "/" + name.name + " is kept at " + std::to_string(*chosen) +
                          " replicas by hand",
                      "end that on its object first"};
  }
  return revision;
}

ApiResult<json> Api::wake(const ServiceName& name) {
  const auto revision = find_to_change(name);
  if (!revision) return revision.error();
  (*revision)->wake();
  return status(**revision);
}

// Without an activator nothing would tell of the next request.
ApiResult<json> Api::sleep(const ServiceName& name) {
  const auto revision = find_to_change(name);
  if (!revision) return revision.error();
  if (!(*revision)->may_sleep()) {
    return ApiProblem{409, "no-activator", "No activator",
                      "no activator is connected: the next request could not wake " + name.space +
                          "/" + name.name,
                      "see the activators in GET /api/v1/version"};
  }
  (*revision)->sleep();
  return status(**revision);
}

ApiResult<json> Api::scale(const ServiceName& name, const ScaleBounds& bounds) {
  const auto revision = find_to_change(name);
  if (!revision) return revision.error();
  const Bounds present = (*revision)->bounds();
  const std::int32_t min = bounds.min.value_or(present.min);
  const std::int32_t max = bounds.max.value_or(present.max);
  if (max > 0 && min > max) {
    return invalid_document(
        "min " + std::to_string(min) + " and max " + std::to_string(max) + " contradict each other",
        "give 0 <= min <= max; a max of 0 means none");
  }
  (*revision)->set_bounds(bounds.min, bounds.max);
  return status(**revision);
}

}  // namespace sluice::autoscaler
