// The engine's answers to its API.

#include "autoscaler/io/status_json.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/log_lines.h"
#include "programs/sluice/engine/spec_difference.h"
#include "programs/sluice/engine/spec_file_edit.h"
#include <algorithm>

namespace sluice::local {
using nlohmann::json;

namespace {

json changes_of(const ServiceSpec& before, const ServiceSpec& after) {
  json changes = json::array();
  for (const SpecChange& change : difference(before, after)) {
    changes.push_back({{"key", change.key}, {"old", change.before}, {"new", change.after}});
  }
  return changes;
}

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

}  // namespace

ApiProblem Engine::no_such_service(const std::string& name) const {
  std::string list;
  for (const auto& [known, service] : platform_.services()) {
    list += (list.empty() ? "" : ", ") + known;
  }
  return {404, "no-such-service", "No such service", "no service is named " + name,
          list.empty() ? "this engine has no services; add one: sluice apply -f FILE"
                       : "services here: " + list};
}

ApiResult<std::string> Engine::spec_yaml(const std::string& name, Values values) {
  const ProcessService* const service = find(name);
  const ProcessRevision* const revision = platform_.revision({"default", name});
  if (service == nullptr && revision == nullptr) return no_such_service(name);
  const ServiceSpec& spec = service == nullptr ? revision->spec() : service->spec;
  return values == Values::shown ? to_yaml(spec) : to_yaml_without_values(spec);
}

// What put() would refuse.
std::optional<ApiProblem> Engine::check(const ServiceSpec& spec) const {
  const auto checked = platform_.check(spec);
  auto problem = checked ? check_room(spec) : std::optional{checked.error()};
  if (!problem) problem = check_hosts(spec);
  if (!problem) return std::nullopt;
  return autoscaler::invalid_document(problem->what, problem->fix);
}

std::optional<ApiProblem> Engine::write_to_file(const ServiceSpec& spec, const std::string& yaml) {
  const std::filesystem::path file = *watched_file(spec.name);
  if (const auto problem = write_into_file(file, spec, yaml, setup_.settings.defaults)) {
    return ApiProblem{409, "not-written", "The file was not written", problem->what, problem->fix};
  }
  reload(true);
  return std::nullopt;
}

ApiResult<json> Engine::apply(const std::string& yaml, const autoscaler::ApplyMode& mode) {
  if (closing_) {
    return ApiProblem{503, "stopping", "the engine stops", "the engine is stopping", ""};
  }
  const auto read = [&](const std::filesystem::path& base) {
    return parse_services(yaml, "the document", base, setup_.settings.defaults);
  };
  auto parsed =
      read(mode.base.empty() ? std::filesystem::current_path() : std::filesystem::path{mode.base});
  if (!parsed) {
    return autoscaler::invalid_document(parsed.error().text(), "");
  }
  if (parsed->services.size() != 1) {
    return autoscaler::invalid_document(
        "the document holds " + std::to_string(parsed->services.size()) + " services",
        "send one service at a time");
  }
  std::string file;
  if (watched_file(parsed->services.front().name) != nullptr) {
    // The file may have been edited just now, to what the document holds.
    reload(true);
    if (const auto* const watched = watched_file(parsed->services.front().name)) {
      file = watched->string();
      parsed = read(watched->parent_path());  // a document means what it means in the file
    }
  }
  const ServiceSpec& spec = parsed->services.front();
  const ProcessService* present = find(spec.name);
  const json changes = present == nullptr ? json::array() : changes_of(present->spec, spec);
  std::string result = present == nullptr ? "created"
                       : changes.empty()  ? "unchanged"
                                          : "configured";
  if (const auto refused = check(spec)) return *refused;
  if (!file.empty() && !changes.empty()) {
    if (!mode.write) {
      return ApiProblem{409, "in-watched-file", "The service stands in a watched file",
                        "service " + spec.name + " stands in " + file +
                            ", which is watched, and is changed there",
                        "edit that file, or write the document into it: sluice apply --write"};
    }
    if (!mode.dry_run) {
      if (const auto refused = write_to_file(spec, yaml)) return *refused;
    }
  } else if (file.empty() && !mode.dry_run) {
    const auto applied = put(spec);
    if (!applied) return autoscaler::invalid_document(applied.error().what, applied.error().fix);
    result = local::name(*applied);
    sources_->disown(spec.name);  // of standard input, which does not change
    keep(spec, BroughtBy::apply);
  }
  present = find(spec.name);
  json answer = {{"service", spec.name},
                 {"result", result},
                 {"revision", present == nullptr ? json{} : json(present->newest().name())},
                 {"difference", changes},
                 {"warnings", parsed->warnings}};
  if (!file.empty()) answer["file"] = file;
  if (present == nullptr) return answer;
  const auto newest = fleet_.revisions().find(present->newest().id());
  if (newest != fleet_.revisions().end()) {
    answer["state"] = autoscaler::state_of(*newest->second);
  }
  answer["serving"] = present->current->name();
  answer["elsewhere"] = traffic_elsewhere(*present);
  return answer;
}

ApiResult<json> Engine::remove(const std::string& name) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  if (const std::filesystem::path* const file = watched_file(name)) {
    return ApiProblem{409, "in-watched-file", "The service stands in a watched file",
                      "service " + name + " stands in " + file->string() + ", which is watched",
                      "remove it there"};
  }
  auto last = api_.service({"default", name});
  kept_.forget(name);
  sources_->disown(name);
  drop(name);
  return last;
}

ApiResult<std::string> Engine::logs(const std::string& name, const LogQuery& query) {
  const ProcessService* service = find(name);
  const bool of_revision = service == nullptr;  // one of several revisions of its service
  if (of_revision) service = platform_.service_of({"default", name});
  if (service == nullptr || service->removed) return no_such_service(name);
  TailQuery tail;
  tail.lines = query.previous || of_revision ? 10'000 : query.tail;
  tail.replica = query.replica;
  tail.since = query.since;
  std::vector<LogLine> lines = tail_log(paths_.logs_dir() / (service->spec.name + ".log"), tail);
  if (of_revision) {
    std::erase_if(lines,
                  [&name](const LogLine& line) { return revision_of({line.replica}) != name; });
  }
  if (query.previous) {
    std::erase_if(lines, [service](const LogLine& line) { return runs(*service, line); });
  }
  if (query.previous || of_revision) {
    if (lines.size() > query.tail) {
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(query.tail));
    }
  }
  if (const auto loss = service->log->loss()) lines.push_back(*loss);
  return log_text(lines, query.times);
}

}  // namespace sluice::local
