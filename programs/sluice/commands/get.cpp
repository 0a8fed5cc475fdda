#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/tables.h"
#include <algorithm>
#include <ostream>
#include <vector>

namespace sluice::commands {
namespace {

using nlohmann::json;

struct Shown {
  FoundService at;
  json status;
};

// The one that was asked for, or every service of every engine.
Result<std::vector<Shown>, Failure> chosen_services(const Surroundings& with,
                                                    const std::string& name) {
  std::vector<Shown> chosen;
  if (!name.empty()) {
    const auto one = find_service(with, name, Finds::running);
    if (!one) {
      return one.error();
    }
    const auto body = fetch(one->engine, {.target = one->path()});
    if (!body) {
      return body.error();
    }
    chosen.push_back({*one, reading::parsed(*body)});
    return chosen;
  }
  auto engines = places(with);
  if (engines.empty()) {
    return find_engine(with, "").error();
  }
  if (!with.engine.empty()) {
    const auto named = find_engine(with, "");
    if (!named) return named.error();
    engines = {*named};
  }
  for (const ApiPlace& engine : engines) {
    note_version(with, engine);
    const auto services = fetch_services(engine);
    if (!services) {
      return services.error();
    }
    for (const json& service : *services) {
      FoundService found{.engine = engine, .service = reading::text(service, "name")};
      if (const std::string space = reading::text(service, "namespace"); !space.empty()) {
        found.space = space;
      }
      chosen.push_back({std::move(found), service});
    }
  }
  return chosen;
}

std::string no_services(const Surroundings& with) {
  std::string text;
  for (const ApiPlace& place : places(with)) {
    if (!with.engine.empty() && place.name != with.engine) continue;
    text += place.is_server() ? "autoscaler " + place.name + " governs no service\n"
                              : "engine " + place.name +
                                    " has no services; add one: sluice apply "
                                    "-f FILE\n";
  }
  return text;
}

// A table has a column for the engines when there are several. At a server services of one name
// have their namespaces in front, as the verbs take them.
json rows_of(const std::vector<Shown>& chosen) {
  json rows = json::array();
  const auto other = [&](const Shown& one) {
    return one.at.engine.name != chosen.front().at.engine.name;
  };
  const bool several = std::any_of(chosen.begin(), chosen.end(), other);
  for (const Shown& one : chosen) {
    const auto same = [&](const Shown& with) { return with.at.service == one.at.service; };
    rows.push_back(one.status);
    if (several) {
      rows.back()["engine"] = one.at.engine.name;
    } else if (one.at.engine.is_server() && std::count_if(chosen.begin(), chosen.end(), same) > 1) {
      rows.back()["name"] = one.at.space + "/" + one.at.service;
    }
  }
  return rows;
}

int print_specs(const Surroundings& with, const std::vector<Shown>& chosen) {
  bool first = true;
  for (const Shown& one : chosen) {
    // A revision that has a row of its own is a part of its service.
    if (chosen.size() > 1 && one.at.service.ends_with(reading::text(one.status, "revision")))
      continue;
    const auto yaml = fetch(one.at.engine, {.target = one.at.path() + "/spec"});
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
  const auto chosen = chosen_services(with, name);
  if (!chosen) {
    return report(with, chosen.error());
  }
  if (output == "yaml") {
    return print_specs(with, *chosen);
  }
  if (output != "json" && chosen->empty()) {
    with.out << no_services(with);
    return kExitOk;
  }
  if (output != "json") {
    with.out << view::get_text(rows_of(*chosen), output == "wide");
    return kExitOk;
  }
  json all = json::array();
  for (const Shown& one : *chosen) {
    all.push_back(one.status);
  }
  with.out << (name.empty() ? all : all.front()).dump(2) << "\n";
  return kExitOk;
}

}  // namespace sluice::commands
