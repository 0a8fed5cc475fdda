// Which revisions of a service there are, and which part of its requests each gets.

#include "autoscaler/io/status_json.h"
#include "autoscaler/io/time_text.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/spec_file_edit.h"
#include <algorithm>
#include <set>

namespace sluice::local {
using nlohmann::json;

namespace {

// What the default is need not be kept.
bool is_default(const Traffic& traffic) {
  return traffic.size() == 1 && traffic.front() == TrafficTarget{.percent = 100};
}

}  // namespace

std::string Engine::traffic_elsewhere(const ProcessService& service) const {
  const Traffic& traffic = platform_.wanted_traffic(service.spec);
  return follows_latest(traffic, service.newest().name()) ? "" : traffic_text(traffic);
}

json Engine::revision_facts(const ProcessService& service, int number) const {
  const std::string name = revision_name(service.spec.name, number);
  const TimePoint made = platform_.kept().made(service.spec.name, number);
  json facts{{"revision", name},
             {"latest", name == service.current->name()},
             {"state", "kept"},
             {"ready", 0},
             {"starting", 0},
             {"draining", 0},
             {"percent", 0},
             {"tags", json::array()},
             {"url", nullptr},
             {"created", made == TimePoint{} ? json{} : json(autoscaler::format_time(made))}};
  if (const auto share = service.shares.find(name); share != service.shares.end()) {
    facts["percent"] = share->second.percent;
    facts["tags"] = share->second.tags;
    if (!share->second.tags.empty()) {
      const auto hosts = tag_hosts(share->second.tags.front(), service.spec.name, {});
      facts["url"] = url_of(hosts.front().host);
    }
  }
  if (service.given_up && service.given_up->revision == name) facts["state"] = "given_up";
  const ProcessRevision* const revision = platform_.revision({"default", name});
  if (revision == nullptr) return facts;
  const ProcessRevision::Counts counts = revision->counts();
  facts["ready"] = counts.ready;
  facts["starting"] = counts.starting;
  facts["draining"] = counts.draining;
  if (revision->retired()) {
    if (!revision->empty()) facts["state"] = "draining";
  } else if (const auto scaled = fleet_.revisions().find(revision->id());
             scaled != fleet_.revisions().end()) {
    const bool pending = service.next.get() == revision && counts.ready == 0;
    facts["state"] =
        pending && !revision->failing() ? "starting" : autoscaler::state_of(*scaled->second);
  }
  return facts;
}

ApiResult<json> Engine::revisions(const std::string& name) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  const std::vector<int> kept = platform_.kept().numbers(name);
  std::set<int, std::greater<>> all(kept.begin(), kept.end());
  service->each([&all](const ProcessRevision& revision) { all.insert(revision.number()); });
  json list = json::array();
  for (const int number : all) list.push_back(revision_facts(*service, number));
  return list;
}

ApiResult<json> Engine::set_traffic(const std::string& name, const json& asked, bool write) {
  if (closing_) {
    return ApiProblem{503, "stopping", "the engine stops", "the engine is stopping", ""};
  }
  // The file may have been edited just now.
  if (watched_file(name) != nullptr) reload(true);
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  if (write && watched_file(name) == nullptr) {
    return in_no_watched_file(name);
  }
  const auto change = change_of(asked);
  if (!change) return autoscaler::invalid_document(change.error().what, change.error().fix);
  auto traffic = changed_traffic(platform_.wanted_traffic(service->spec), *change);
  if (!traffic) return autoscaler::invalid_document(traffic.error().what, traffic.error().fix);
  ServiceSpec wanted = service->spec;
  wanted.traffic = *traffic;
  auto problem = platform_.check_traffic_of(name, *traffic);
  if (!problem) problem = check_hosts(wanted);
  if (problem) return autoscaler::invalid_document(problem->what, problem->fix);
  if (const auto refused = divide(*service, std::move(*traffic), write)) return *refused;
  publish_service(name, "changed");
  return revisions(name);
}

// Into the place in force: the file or the spec that has traffic in it, else the record of
// what was chosen.
std::optional<ApiProblem> Engine::divide(const ProcessService& service, Traffic traffic,
                                         bool write) {
  const std::string name = service.spec.name;
  ServiceSpec wanted = service.spec;
  const bool in_spec = !wanted.traffic.empty();
  wanted.traffic = traffic;
  const std::filesystem::path* const file = watched_file(name);
  if (file != nullptr && (in_spec || write)) {
    if (wanted.traffic == service.spec.traffic) return std::nullopt;
    if (!write) {
      return ApiProblem{
          409, "in-watched-file", "The traffic is defined in a watched file",
          "service " + name + " has its traffic in " + file->string() + ", which is watched",
          "edit that file, or write the change into it: sluice traffic --write"};
    }
    if (const auto refused = write_traffic(*file, wanted, setup_.settings.defaults)) {
      return ApiProblem{409, "not-written", "The file was not written", refused->what,
                        refused->fix};
    }
    reload(true);
    return std::nullopt;
  }
  if (!in_spec) {
    if (is_default(traffic)) traffic.clear();
    const auto refused = platform_.choose_traffic(name, std::move(traffic));
    if (!refused) return std::nullopt;
    return ApiProblem{409, "not-changed", "The traffic was not changed", refused->what,
                      refused->fix};
  }
  const BroughtBy by = kept_.brought_by(name).value_or(BroughtBy::command);
  if (const auto result = put_and_keep(wanted, by); !result) return result.error();
  return std::nullopt;
}

}  // namespace sluice::local
