#include "common/base/version.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/flag_table.h"
#include "programs/sluice/commands/usage.h"
#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {
namespace {

using nlohmann::json;

json flags_json(std::span<const FlagLine> flags) {
  json list = json::array();
  for (const FlagLine& flag : flags) {
    list.push_back({{"names", flag.names},
                    {"value", flag.value},
                    {"words", flag.words},
                    {"required", flag.required},
                    {"repeated", flag.repeated},
                    {"about", flag.about}});
  }
  return list;
}

// The whole command line, for those who write pages about it.
json command_line_json(const Surroundings& with) {
  json all = {{"version", std::string(kVersion)}, {"flags", flags_json(flags_before_verb())}};
  json& verbs = all["verbs"] = json::array();
  for (const VerbTable& verb : verb_tables(with)) {
    json arguments = json::array();
    for (const ArgumentLine& argument : verb.arguments) {
      arguments.push_back({{"name", argument.name},
                           {"words", argument.words},
                           {"required", argument.required},
                           {"about", argument.about}});
    }
    verbs.push_back({{"name", verb.name},
                     {"summary", verb.summary},
                     {"about", verb.about},
                     {"examples", verb.examples},
                     {"arguments", std::move(arguments)},
                     {"flags", flags_json(verb.flags)}});
  }
  json& codes = all["exit_statuses"] = json::array();
  for (const ExitLine& line : exit_lines()) {
    codes.push_back({{"status", line.status}, {"meaning", line.meaning}});
  }
  json& others = all["other_words"] = json::array();
  for (const OtherWord& other : other_words()) {
    others.push_back({{"word", other.word}, {"use", other.use}});
  }
  return all;
}

}  // namespace

int run_help(const Surroundings& with, const Arguments& args,
             const std::function<int(const Arguments&)>& again) {
  CLI::App app("Prints the help of a verb, or the list of verbs.");
  std::string verb;
  std::string output = "text";
  app.add_option("VERB", verb, "the verb; without one, all are listed");
  app.add_option("-o,--output", output, "text, or json: every verb with its flags")
      ->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "help", args)) return *code;
  if (output == "json") {
    with.out << command_line_json(with).dump(2) << "\n";
    return kExitOk;
  }
  if (!verb.empty()) return again({verb, "--help"});
  with.out << general_help();
  return kExitOk;
}

}  // namespace sluice::commands
