// The engine's answers to its API.

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/log_lines.h"
#include "programs/sluice/engine/spec_difference.h"
#include <algorithm>
#include <fstream>

namespace sluice::local {
using nlohmann::json;

namespace {

// Applied specs survive the engine; a disk that refuses them costs that and nothing else.
bool keep_spec(const std::filesystem::path& file, const std::string& yaml) {
  const std::filesystem::path draft = file.string() + ".new";
  std::ofstream out{draft, std::ios::trunc};
  out << yaml;
  out.close();
  std::error_code failed;
  if (!out) {
    std::filesystem::remove(draft, failed);
    return false;
  }
  std::filesystem::rename(draft, file, failed);
  return !failed;
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
  if (service == nullptr) return no_such_service(name);
  return values == Values::shown ? to_yaml(service->spec) : to_yaml_without_values(service->spec);
}

ApiResult<json> Engine::apply(const std::string& yaml, bool dry_run) {
  if (closing_) {
    return ApiProblem{503, "stopping", "the engine stops", "the engine is stopping", ""};
  }
  auto parsed = parse_services(yaml, "the document", std::filesystem::current_path(),
                               setup_.settings.defaults);
  if (!parsed) {
    std::string detail;
    for (const Problem& problem : parsed.error()) {
      detail += (detail.empty() ? "" : "\n") + problem.text();
    }
    return autoscaler::invalid_document(std::move(detail), "");
  }
  if (parsed->services.size() != 1) {
    return autoscaler::invalid_document(
        "the document holds " + std::to_string(parsed->services.size()) + " services",
        "send one service at a time");
  }
  const ServiceSpec& spec = parsed->services.front();
  const ProcessService* present = find(spec.name);
  json changes = json::array();
  if (present != nullptr) {
    for (const SpecChange& change : difference(present->spec, spec)) {
      changes.push_back({{"key", change.key}, {"old", change.before}, {"new", change.after}});
    }
  }
  std::string result = present == nullptr ? "created"
                       : changes.empty()  ? "unchanged"
                                          : "configured";
  if (dry_run) {
    if (const auto checked = platform_.check(spec); !checked) {
      return autoscaler::invalid_document(checked.error().what, checked.error().fix);
    }
    auto problem = check_room(spec);
    if (!problem) problem = check_hosts(spec);
    if (problem) return autoscaler::invalid_document(problem->what, problem->fix);
  } else {
    const auto applied = put(spec);
    if (!applied) return autoscaler::invalid_document(applied.error().what, applied.error().fix);
    result = local::name(*applied);
    if (!keep_spec(paths_.specs_dir() / (spec.name + ".yaml"), to_yaml(spec))) {
      publish_text("warning", "the spec of " + spec.name + " could not be written",
                   "free space in " + paths_.specs_dir().string());
    }
  }
  present = find(spec.name);
  return json{{"service", spec.name},
              {"result", result},
              {"revision", present == nullptr ? json{} : json(present->newest().name())},
              {"difference", changes},
              {"warnings", parsed->warnings}};
}

ApiResult<json> Engine::remove(const std::string& name) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  auto last = api_.service({"default", name});
  std::error_code ignored;
  std::filesystem::remove(paths_.specs_dir() / (name + ".yaml"), ignored);
  drop(name);
  return last;
}

ApiResult<std::string> Engine::logs(const std::string& name, const LogQuery& query) {
  const ProcessService* const service = find(name);
  if (service == nullptr) return no_such_service(name);
  TailQuery tail;
  tail.lines = query.previous ? 10'000 : query.tail;
  tail.replica = query.replica;
  tail.since = query.since;
  std::vector<LogLine> lines = tail_log(paths_.logs_dir() / (name + ".log"), tail);
  if (query.previous) {
    std::erase_if(lines, [service](const LogLine& line) { return runs(*service, line); });
    if (lines.size() > query.tail) {
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(query.tail));
    }
  }
  if (const auto loss = service->log->loss()) lines.push_back(*loss);
  return log_text(lines, query.times);
}

}  // namespace sluice::local
