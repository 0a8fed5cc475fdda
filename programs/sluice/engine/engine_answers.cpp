// The engine's answers to its API.

#include "common/base/version.h"

#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/engine/documents.h"
#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/spec_difference.h"
#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace sluice::local {
using nlohmann::json;

namespace {

constexpr std::size_t kHistoryMax = 1000;

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

}  // namespace

json Engine::services() {
  json list = json::array();
  for (const auto& [name, service] : services_) list.push_back(service->status());
  return list;
}

ApiResult<json> Engine::service(const std::string& name) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  return service->status();
}

ApiResult<std::string> Engine::spec_yaml(const std::string& name, Values values) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  return values == Values::shown ? to_yaml(service->spec())
                                 : to_yaml_without_values(service->spec());
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
    return invalid_document(std::move(detail), "");
  }
  if (parsed->services.size() != 1) {
    return invalid_document(
        "the document holds " + std::to_string(parsed->services.size()) + " services",
        "send one service at a time");
  }
  const ServiceSpec& spec = parsed->services.front();
  Service* present = find(spec.name);
  json changes = json::array();
  if (present != nullptr) {
    for (const SpecChange& change : difference(present->spec(), spec)) {
      changes.push_back({{"key", change.key}, {"old", change.before}, {"new", change.after}});
    }
  }
  std::string result = present == nullptr ? "created"
                       : changes.empty()  ? "unchanged"
                                          : "configured";
  if (dry_run) {
    const Service probe{platform_, [] {}, ""};
    if (const auto checked = probe.check(spec); !checked) {
      return invalid_document(checked.error().what, checked.error().fix);
    }
    auto problem = check_room(spec);
    if (!problem) problem = check_hosts(spec);
    if (problem) return invalid_document(problem->what, problem->fix);
  } else {
    const auto applied = put(spec);
    if (!applied) return invalid_document(applied.error().what, applied.error().fix);
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
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  json last = service->status();
  std::error_code ignored;
  std::filesystem::remove(paths_.specs_dir() / (name + ".yaml"), ignored);
  drop(name);
  return last;
}

ApiResult<json> Engine::explain(const std::string& name, std::optional<TimePoint> at) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  if (!at) return service->explain();
  std::optional<json> past;
  if (history_) past = history_->decision_at(name, *at);
  if (!past) {
    return ApiProblem{404, "no-decision", "nothing is known of that time",
                      "no decision for " + name + " was kept from before " + format_time(*at),
                      "give a later time; `sluice history " + name + "` lists them"};
  }
  const auto cold_start = history_->cold_start_at(name, *at);
  (*past)["last_cold_start"] = cold_start ? *cold_start : json{};
  return *past;
}

ApiResult<json> Engine::history(const std::string& name, TimePoint since) {
  if (find(name) == nullptr) return no_such_service(name, names());
  json list = json::array();
  if (history_) {
    for (json& decision : history_->decisions(name, since, kHistoryMax)) {
      list.push_back(std::move(decision));
    }
  }
  return list;
}

ApiResult<std::string> Engine::logs(const std::string& name, const LogQuery& query) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  TailQuery tail;
  tail.lines = query.previous ? 10'000 : query.tail;
  tail.replica = query.replica;
  std::vector<LogLine> lines = tail_log(paths_.logs_dir() / (name + ".log"), tail);
  if (query.previous) {
    const json replicas = service->status()["replicas"];
    std::erase_if(lines, [&replicas](const LogLine& line) {
      return std::any_of(replicas.begin(), replicas.end(), [&line](const json& replica) {
        return replica["id"].get_ref<const std::string&>() == line.replica;
      });
    });
    if (lines.size() > query.tail) {
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(query.tail));
    }
  }
  std::string text;
  for (const LogLine& line : lines) text += line.replica + " | " + line.text + "\n";
  return text;
}

ApiResult<json> Engine::wake(const std::string& name) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  service->wake();
  return service->status();
}

ApiResult<json> Engine::sleep(const std::string& name) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  service->sleep();
  return service->status();
}

ApiResult<json> Engine::scale(const std::string& name, const ScaleBounds& bounds) {
  Service* service = find(name);
  if (service == nullptr) return no_such_service(name, names());
  const autoscaler::Bounds present = service->current().scaler().spec().bounds;
  const std::int32_t min = bounds.min.value_or(present.min);
  const std::int32_t max = bounds.max.value_or(present.max);
  if (min < 0 || max < 0 || (max > 0 && min > max)) {
    return invalid_document(
        "min " + std::to_string(min) + " and max " + std::to_string(max) + " do not fit together",
        "give 0 <= min <= max; a max of 0 means none");
  }
  service->set_bounds(bounds);
  return service->status();
}

json Engine::info() {
  return {{"name", setup_.name},
          {"pid", ::getpid()},
          {"http", door_.text()},
          {"version", std::string{kVersion}},
          {"started", format_time(started_)}};
}

}  // namespace sluice::local
