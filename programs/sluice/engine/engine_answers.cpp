// The engine's answers to its API.

#include "autoscaler/io/status_json.h"
#include "common/base/names_text.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/log_lines.h"
#include <algorithm>
#include <utility>

namespace sluice::local {
using nlohmann::json;

namespace {

// Whether the replica that printed the line is there. Its name alone is also that of an earlier
// one.
bool runs(const ProcessService& service, const LogLine& line) {
  bool there = false;
  service.each([&](const ProcessRevision& revision) {
    const std::int64_t start = revision.start_of(line.replica);
    there = there || (start != 0 && (line.start == 0 || line.start == start));
  });
  return there;
}

// One that is there may have printed nothing yet.
std::optional<ApiProblem> no_such_replica(const ProcessService& service, const std::string& id) {
  std::string list;
  bool there = false;
  service.each([&](const MemoryTenant& revision) {
    for (const TenantReplica& replica : revision.replicas()) {
      there = there || replica.id == id;
      list += (list.empty() ? "" : ", ") + replica.id;
    }
  });
  if (there) return std::nullopt;
  return ApiProblem{404, "no-such-replica", "No such replica",
                    "the log has no line of a replica of " + service.spec.name + " named " + id,
                    list.empty() ? "no replica is there now; without --replica all lines are shown"
                                 : "replicas there now: " + list};
}

}  // namespace

ApiProblem Engine::no_such_service(const std::string& name) const {
  NamesText names;
  for (const auto& each : platform_.services()) names.add(each.first);
  const std::string list = names.text();
  return {404, "no-such-service", "No such service", "no service is named " + name,
          list.empty() ? "engine " + setup_.name + " has no services; add one: sluice apply -f FILE"
                       : "services of engine " + setup_.name + ": " + list};
}

ApiProblem Engine::in_watched_file(const std::string& name, const std::string& file,
                                   std::string fix) {
  return {409, "in-watched-file", "The service is defined in a watched file",
          "service " + name + " is defined in " + file + ", which is watched", std::move(fix)};
}

ApiProblem Engine::in_no_watched_file(const std::string& name) {
  return {409, "in-no-watched-file", "The service is in no watched file",
          "service " + name + " is defined in no watched file",
          "leave --write out: the engine keeps the change, over restarts too"};
}

ApiResult<std::string> Engine::spec_yaml(const std::string& name, Values values) {
  const ProcessService* const service = find(name);
  const ProcessRevision* const revision = platform_.revision({"default", short_name(name)});
  if (service == nullptr && revision == nullptr) return no_such_service(name);
  ServiceSpec spec = service == nullptr ? revision->spec() : service->spec;
  if (service != nullptr) spec.traffic = platform_.wanted_traffic(spec);
  return values == Values::shown ? to_yaml(spec) : to_yaml_without_values(spec);
}

ApiResult<json> Engine::remove(const std::string& name) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  if (const std::filesystem::path* const file = watched_file(name)) {
    return in_watched_file(name, file->string(), "remove it there");
  }
  auto last = api_.service({"default", name});
  if (const auto refused = kept_.forget(name)) {
    return ApiProblem{507, "not-kept", "The change cannot be kept",
                      "service " + name + " stays: " + refused->what, refused->fix};
  }
  sources_->disown(name);
  drop(name);
  return last;
}

ApiResult<autoscaler::ServiceLines> Engine::logs(const std::string& name, const LogQuery& query) {
  const ProcessService* service = find(name);
  const bool of_revision = service == nullptr;  // it may have ended long ago
  const std::string revision = of_revision ? short_name(name) : std::string{};
  if (of_revision) service = find(revision.substr(0, revision.rfind('-')));
  if (service == nullptr || (of_revision && revision_number(service->spec.name, revision) == 0)) {
    return no_such_service(name);
  }
  TailQuery tail;
  tail.lines = query.previous || of_revision ? 10'000 : query.tail;
  tail.replica = query.replica;
  tail.since = query.since;
  std::vector<LogLine> lines = tail_log(paths_.logs_dir() / (service->spec.name + ".log"), tail);
  if (of_revision) {
    std::erase_if(lines,
                  [&](const LogLine& line) { return revision_of({line.replica}) != revision; });
  }
  if (query.previous) {
    std::erase_if(lines, [service](const LogLine& line) { return runs(*service, line); });
  }
  if (query.previous || of_revision) {
    if (lines.size() > query.tail) {
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(query.tail));
    }
  }
  if (lines.empty() && !query.replica.empty()) {
    if (const auto unknown = no_such_replica(*service, query.replica)) return *unknown;
  }
  if (const auto loss = service->log->loss()) {
    lines.insert(std::upper_bound(lines.begin(), lines.end(), *loss, is_earlier), *loss);
  }
  return autoscaler::ServiceLines{log_text(lines, query.times), service->spec.name, revision};
}

}  // namespace sluice::local
