#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/completion_text.h"
#include "programs/sluice/commands/verbs.h"
#include <algorithm>
#include <map>
#include <ostream>

namespace sluice::commands {
namespace {

// A person waits for the menu: an engine that does not answer is left out.
constexpr Duration kAnswerPatience = std::chrono::milliseconds{500};
constexpr Duration kNamesPatience = std::chrono::seconds{1};

// Services of all engines that answer, with the engine in front of a name that several have.
std::vector<std::string> service_names(const Surroundings& with) {
  const TimePoint deadline = with.clock.now() + kNamesPatience;
  std::map<std::string, std::vector<std::string>> engines_of;
  for (const ApiPlace& engine : places(with)) {
    const Duration left = deadline - with.clock.now();
    if (left <= Duration{0}) break;
    const auto body = fetch(engine, {.target = "/api/v1/services?limit=1000",
                                     .timeout = std::min(left, kAnswerPatience)});
    if (!body) continue;
    const auto list = reading::parsed(*body);
    for (const auto& service : reading::array(list, "items")) {
      engines_of[reading::text(service, "name")].push_back(engine.name);
    }
  }
  std::vector<std::string> names;
  for (const auto& [service, engines] : engines_of) {
    if (engines.size() == 1) {
      names.push_back(service);
      continue;
    }
    for (const std::string& engine : engines) {
      names.push_back(fmt::format("{}/{}", engine, service));
    }
  }
  return names;
}

}  // namespace

int run_complete_names(const Surroundings& with, const Arguments& args) {
  const bool services = args.size() == 1 && args.front() == "services";
  if (services) {
    for (const std::string& name : service_names(with)) with.out << name << "\n";
  } else {
    for (const ApiPlace& engine : places(with)) with.out << engine.name << "\n";
  }
  return kExitOk;
}

int run_completion(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints a script by which a shell completes verbs, flags and names of services.");
  std::string shell;
  app.add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  if (const auto code = ends_early(with, app, "completion", args)) return *code;
  const auto verbs = verb_tables(with);
  const CompletionTables tables{.before_verb = flags_before_verb(), .verbs = verbs};
  with.out << (shell == "bash"  ? bash_completion(tables)
               : shell == "zsh" ? zsh_completion(tables)
                                : fish_completion(tables));
  return kExitOk;
}

}  // namespace sluice::commands
