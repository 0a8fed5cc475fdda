// What `apply` brings: all of a request is judged before anything of it changes.

#include "autoscaler/io/status_json.h"

#include <nlohmann/json.hpp>

#include "programs/sluice/engine/engine.h"
#include "programs/sluice/engine/spec_difference.h"
#include "programs/sluice/engine/spec_file_edit.h"
#include <algorithm>

namespace sluice::local {
using nlohmann::json;

namespace {

constexpr const char* kStream = "the document";  // the engine does not see the file's name

// Of traffic, what divides the requests where the spec does not: `chosen`, then nothing.
json changes_of(const ServiceSpec& before, const Traffic& chosen, const ServiceSpec& after) {
  json changes = json::array();
  for (SpecChange& change : difference(before, after)) {
    if (change.key == kTrafficKey && change.before.empty()) change.before = traffic_text(chosen);
    if (change.key == kTrafficKey && change.after.empty()) change.after = traffic_text({});
    changes.push_back({{"key", change.key}, {"old", change.before}, {"new", change.after}});
  }
  return changes;
}

// One problem of several: the last one keeps its fix, those before have theirs in the text.
ApiProblem joined(std::vector<ApiProblem> problems) {
  ApiProblem all = std::move(problems.front());
  for (std::size_t i = 1; i < problems.size(); ++i) {
    if (!all.fix.empty()) all.detail += "; " + all.fix;
    all.detail += "\n" + problems[i].detail;
    all.fix = std::move(problems[i].fix);
  }
  return all;
}

}  // namespace

struct Engine::Planned {
  ServiceSpec spec;
  std::string file;  // the watched one in which it stands; empty: none
  json changes;
  std::string result;

  [[nodiscard]] bool is_for_file() const { return !file.empty() && !changes.empty(); }
};

struct Engine::Applying {
  std::string yaml;
  bool dry_run = false;
  std::vector<Planned> planned;
  std::vector<std::string> warnings;
  AppliedDone done = {};
  json items = json::array();  // of the first ones planned
};

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

// A document means what it means in the file in which its service stands.
Result<ServiceSpec, ApiProblem> Engine::spec_in_its_file(const ServiceSpec& spec,
                                                         const std::string& yaml,
                                                         const std::string& base) const {
  const std::filesystem::path* const file = watched_file(spec.name);
  if (file == nullptr || file->parent_path() == base) return spec;
  auto parsed = parse_services(yaml, kStream, file->parent_path(), setup_.settings.defaults);
  if (!parsed) return autoscaler::invalid_document(parsed.error().text(), "");
  for (ServiceSpec& each : parsed->services) {
    if (each.name == spec.name) return std::move(each);
  }
  return spec;
}

ApiResult<std::vector<Engine::Planned>> Engine::plan(const std::string& yaml,
                                                     std::vector<ServiceSpec> specs,
                                                     const autoscaler::ApplyMode& mode) {
  const auto stands_in_file = [this](const ServiceSpec& spec) {
    return watched_file(spec.name) != nullptr;
  };
  // A file may have been edited just now, to what the document holds.
  if (std::any_of(specs.begin(), specs.end(), stands_in_file)) reload(true);
  std::vector<Planned> all;
  std::vector<ApiProblem> problems;
  for (ServiceSpec& given : specs) {
    auto spec = spec_in_its_file(given, yaml, mode.base);
    auto refused = spec ? check(*spec) : std::optional{spec.error()};
    if (refused) {
      problems.push_back(std::move(*refused));
      continue;
    }
    const std::filesystem::path* const file = watched_file(spec->name);
    const ProcessService* const present = find(spec->name);
    Planned one{.spec = std::move(*spec),
                .file = file == nullptr ? std::string{} : file->string(),
                .changes = {},
                .result = present == nullptr ? "created" : "configured"};
    one.changes =
        present == nullptr
            ? json::array()
            : changes_of(present->spec, platform_.wanted_traffic(present->spec), one.spec);
    if (present != nullptr && one.changes.empty()) one.result = "unchanged";
    if (file == nullptr && mode.write) problems.push_back(in_no_watched_file(one.spec.name));
    if (one.is_for_file() && !mode.write) {
      problems.push_back(
          in_watched_file(one.spec.name, one.file,
                          "edit that file, or write the document into it: sluice apply --write"));
    }
    all.push_back(std::move(one));
  }
  if (!problems.empty()) return joined(std::move(problems));
  return all;
}

json Engine::applied_json(const Planned& one) const {
  const ProcessService* const present = find(one.spec.name);
  json item = {{"service", one.spec.name},
               {"result", one.result},
               {"revision", present == nullptr ? json{} : json(present->newest().name())},
               {"difference", one.changes}};
  if (!one.file.empty()) item["file"] = one.file;
  if (present == nullptr) return item;
  const auto newest = fleet_.revisions().find(present->newest().id());
  if (newest != fleet_.revisions().end()) {
    const std::string_view state = autoscaler::state_of(*newest->second);
    // Before its first evaluation nothing is wanted of it yet.
    const bool is_new = one.result == local::name(Applied::created) ||
                        one.result == local::name(Applied::configured);
    const bool starts = is_new && newest->second->bounds().min > 0;
    item["state"] = state == "asleep" && starts ? "starting" : state;
  }
  item["serving"] = present->serving_beside(present->newest().name());
  item["elsewhere"] = traffic_elsewhere(*present);
  return item;
}

json Engine::carry_out(Planned& one) {
  const auto applied = put_and_keep(one.spec, BroughtBy::apply);
  if (!applied) {
    return {{"service", one.spec.name},
            {"result", "refused"},
            {"status", applied.error().status},
            {"detail", applied.error().detail},
            {"fix", applied.error().fix}};
  }
  one.result = local::name(*applied);
  sources_->disown(one.spec.name);  // of standard input, which does not change
  return applied_json(one);
}

ApiResult<Engine::Applying> Engine::judge(const std::string& yaml,
                                          const autoscaler::ApplyMode& mode) {
  auto parsed = parse_services(
      yaml, kStream,
      mode.base.empty() ? std::filesystem::current_path() : std::filesystem::path{mode.base},
      setup_.settings.defaults);
  if (!parsed) return autoscaler::invalid_document(parsed.error().text(), "");
  if (mode.write && parsed->services.size() != 1) {
    return autoscaler::invalid_document(
        "the stream to be written holds " + std::to_string(parsed->services.size()) + " services",
        "send one service at a time");
  }
  auto planned = plan(yaml, std::move(parsed->services), mode);
  if (!planned) return planned.error();
  return Applying{.yaml = yaml,
                  .dry_run = mode.dry_run,
                  .planned = std::move(*planned),
                  .warnings = std::move(parsed->warnings)};
}

// One service in a turn of the loop: each is written to the disk, and requests are served between
// two of them.
void Engine::carry_on(const std::shared_ptr<Applying>& work) {
  if (closing_) {
    return work->done(
        ApiProblem{503, "stopping", "the engine stops", "the engine is stopping", ""});
  }
  if (work->items.size() == work->planned.size()) {
    return work->done(json{{"items", std::move(work->items)}, {"warnings", work->warnings}});
  }
  Planned& one = work->planned[work->items.size()];
  if (one.is_for_file() && !work->dry_run) {
    if (const auto refused = write_to_file(one.spec, work->yaml)) return work->done(*refused);
  }
  work->items.push_back(work->dry_run || !one.file.empty() ? applied_json(one) : carry_out(one));
  loop_.post([this, alive = alive_.watch(), work] {
    if (!alive.over()) carry_on(work);
  });
}

void Engine::apply(const std::string& yaml, const autoscaler::ApplyMode& mode, AppliedDone done) {
  auto judged = judge(yaml, mode);
  if (!judged) return done(judged.error());
  judged->done = std::move(done);
  carry_on(std::make_shared<Applying>(std::move(*judged)));
}

}  // namespace sluice::local
