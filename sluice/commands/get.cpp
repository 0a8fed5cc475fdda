#include "sluice/commands/verbs.h"
#include "sluice/view/tables.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ostream>

namespace sluice::commands {
namespace {

using nlohmann::json;

// The one that was asked for, or every service of every engine.
Result<std::vector<FoundService>, Failure> chosen_services(const Surroundings& with,
                                                           const std::string& name) {
  std::vector<FoundService> found;
  if (!name.empty()) {
    const auto one = find_service(with, name);
    if (!one) {
      return one.error();
    }
    found.push_back(*one);
    return found;
  }
  const auto engines = local::running_engines(with.roots.runtime);
  if (engines.empty()) {
    return find_engine(with, "").error();
  }
  for (const local::RunningEngine& engine : engines) {
    const auto services = fetch_services(engine);
    if (!services) {
      return services.error();
    }
    for (const json& service : *services) {
      found.push_back({.engine = engine, .service = service.value("name", std::string{})});
    }
  }
  return found;
}

int print_specs(const Surroundings& with, const std::vector<FoundService>& found) {
  bool first = true;
  for (const FoundService& one : found) {
    const auto yaml = fetch(one.engine, {.target = one.path() + "/spec"});
    if (!yaml) {
      return report(with, yaml.error());
    }
    with.out << (first ? "" : "---\n") << *yaml;
    first = false;
  }
  return kExitOk;
}

}  // namespace

int run_get(const Surroundings& with, const Arguments& args) {
  CLI::App app("Lists services, or shows one; yaml is its spec.");
  std::string name;
  std::string output = "table";
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE");
  app.add_option("-o,--output", output, "table, wide, json or yaml")
      ->check(CLI::IsMember({"table", "wide", "json", "yaml"}));
  if (const auto code = ends_early(with, app, "get", args)) {
    return *code;
  }
  const auto found = chosen_services(with, name);
  if (!found) {
    return report(with, found.error());
  }
  if (output == "yaml") {
    return print_specs(with, *found);
  }
  json all = json::array();
  for (const FoundService& one : *found) {
    const auto body = fetch(one.engine, {.target = one.path()});
    if (!body) {
      return report(with, body.error());
    }
    all.push_back(json::parse(*body, nullptr, false));
  }
  if (output == "json") {
    with.out << (name.empty() ? all : all.front()).dump(2) << "\n";
  } else {
    with.out << view::get_text(all, output == "wide");
  }
  return kExitOk;
}

}  // namespace sluice::commands
