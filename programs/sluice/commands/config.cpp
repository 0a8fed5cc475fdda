#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/engine_settings.h"
#include "platform/process/engine_variables.h"
#include "platform/process/sidecar.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/engine/door_access.h"
#include <algorithm>
#include <ostream>

namespace sluice::commands {
namespace {

using nlohmann::json;

constexpr std::size_t kColumnMax = 60;

// One setting with its value and where that comes from.
struct SettingShown {
  local::SettingLine line = {};
  std::string from;   // default, file, environment, flag
  std::string where;  // the place in words: `default`, `/etc/sluice/config.yaml:7`, `--http`
};

struct ConfigAsked {
  std::string file;
  std::string http;
  std::string level;
  std::string output = "table";
  std::string check;
};

// What the parser leaves to the start of an engine.
std::vector<Problem> left_to_start(const local::EngineSettings& settings) {
  const auto door = local::parse_door(settings.http);
  if (door) return {};
  const auto place = settings.origins.find("http");
  const std::string where = place == settings.origins.end() ? "--http" : place->second;
  return {{where + ": " + door.error().what, door.error().fix}};
}

int report_all(const Surroundings& with, const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) with.err << problem.text() << "\n";
  return kExitConfig;
}

int check_file(const Surroundings& with, const std::string& file) {
  const auto settings = local::load_engine_settings(file, {});
  if (!settings) return report_all(with, settings.error());
  if (const auto problems = left_to_start(*settings); !problems.empty()) {
    return report_all(with, problems);
  }
  with.out << file << " is good: " << settings->origins.size()
           << (settings->origins.size() == 1 ? " key is set\n" : " keys are set\n");
  return kExitOk;
}

std::vector<SettingShown> settings_shown(const local::EngineSettings& settings,
                                         const ConfigAsked& asked) {
  std::vector<SettingShown> all;
  for (local::SettingLine& line : local::setting_lines(settings)) {
    SettingShown shown{.from = line.origin.empty() ? "default" : "file",
                       .where = line.origin.empty() ? "default" : line.origin};
    const auto overridden = [&](const std::string& key, const std::string& flag,
                                const std::string& value) {
      if (line.key != key || value.empty()) return;
      line.value = value;
      shown.from = "flag";
      shown.where = flag;
    };
    overridden("http", "--http", asked.http);
    overridden("log-level", "--log-level", asked.level);
    shown.line = std::move(line);
    all.push_back(std::move(shown));
  }
  return all;
}

// The variables of the environment, as settings without a file.
std::vector<SettingShown> variables_shown() {
  std::vector<SettingShown> all;
  for (const local::EngineVariable& variable : local::kEngineVariables) {
    const auto given = local::process_env(variable.name);
    const bool set = given && !given->empty();
    all.push_back({.line = {.key = variable.name,
                            .type = "text",
                            .fallback = variable.fallback,
                            .value = set ? *given : variable.fallback,
                            .origin = {},
                            .meaning = variable.meaning},
                   .from = set ? "environment" : "default",
                   .where = set ? "environment" : "default"});
  }
  return all;
}

json json_of(const std::vector<SettingShown>& all) {
  json list = json::array();
  for (const SettingShown& shown : all) {
    list.push_back({{"key", shown.line.key},
                    {"type", shown.line.type},
                    {"default", shown.line.fallback},
                    {"value", shown.line.value},
                    {"from", shown.from},
                    {"where", shown.where},
                    {"meaning", shown.line.meaning}});
  }
  return list;
}

void print_settings(const Surroundings& with, const std::vector<SettingShown>& all) {
  std::size_t key = 3;
  std::size_t value = 5;
  for (const SettingShown& shown : all) {
    key = std::max(key, shown.line.key.size());
    // A long list makes no other line longer.
    if (shown.line.value.size() <= kColumnMax) value = std::max(value, shown.line.value.size());
  }
  const auto row = [&](std::string first, std::string second, const std::string& third) {
    first.resize(key + 2, ' ');
    second.resize(std::max(value, second.size()) + 2, ' ');
    with.out << first << second << third << "\n";
  };
  row("KEY", "VALUE", "FROM");
  for (const SettingShown& shown : all) row(shown.line.key, shown.line.value, shown.where);
}

}  // namespace

int run_config(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Prints every setting that an engine started here would have, and where it comes from.");
  ConfigAsked asked;
  app.add_option("--check", asked.check, "check this file instead; exit 78 on problems")
      ->type_name("FILE");
  app.add_option("--config", asked.file, "engine settings, as up has it")->type_name("FILE");
  app.add_option("--http", asked.http, "front door, as up has it")->type_name("HOST:PORT");
  app.add_option("--log-level", asked.level, "as up has it")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
  app.add_option("-o,--output", asked.output, "table, or json: with type, default and meaning")
      ->check(CLI::IsMember({"table", "json"}));
  if (const auto code = ends_early(with, app, "config", args)) return *code;
  if (app.count("--check") > 0) return check_file(with, asked.check);

  std::optional<std::filesystem::path> given;
  if (!asked.file.empty()) given = asked.file;
  const auto search = local::settings_files(local::process_env);
  const auto file = local::chosen_settings_file(given, search);
  auto settings = local::load_engine_settings(given, search);
  if (!settings) return report_all(with, settings.error());
  if (!asked.http.empty()) {
    settings->http = asked.http;
    settings->origins.erase("http");
  }
  if (const auto problems = left_to_start(*settings); !problems.empty()) {
    const int code = report_all(with, problems);
    return asked.http.empty() ? code : kExitUsage;
  }
  const auto keys = settings_shown(*settings, asked);
  const auto variables = variables_shown();
  if (asked.output == "json") {
    const json all = {{"file", file ? json(file->string()) : json()},
                      {"settings", json_of(keys)},
                      {"environment", json_of(variables)}};
    with.out << all.dump(2) << "\n";
    return kExitOk;
  }
  with.out << "file: " << (file ? file->string() : "none") << "\n\n";
  print_settings(with, keys);
  with.out << "\n";
  print_settings(with, variables);
  return kExitOk;
}

}  // namespace sluice::commands
