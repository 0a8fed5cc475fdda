#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/cores.h"
#include "platform/process/engine_settings.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/policies_text.h"
#include <ostream>

namespace sluice::commands {
namespace {

using nlohmann::json;

struct Checked {
  std::size_t policies = 0;
  std::string text;  // of the file
};

Result<Checked, std::vector<Problem>> checked(const std::string& file) {
  auto text = local::read_spec_file(file);
  if (!text) return std::vector<Problem>{text.error()};
  const auto rules = local::parse_placement(*text, local::shown_name(file), local::own_cores());
  if (!rules) return rules.error();
  return Checked{.policies = rules->policies.size(), .text = std::move(*text)};
}

int report_wrong(const Surroundings& with, const std::vector<Problem>& problems, bool as_json) {
  json list = json::array();
  for (const Problem& problem : problems) {
    with.err << problem.text() << "\n";
    list.push_back({{"what", problem.what}, {"fix", problem.fix}});
  }
  if (as_json) with.out << json{{"problems", std::move(list)}}.dump(2) << "\n";
  return kExitConfig;
}

}  // namespace

int run_policy(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Judges the policies of FILE, and prints which services each would move out of a place now, "
      "the first one first, and why. Nothing is moved.");
  std::string action;
  std::string file;
  std::string output = "text";
  app.add_option("ACTION", action, "check")->required()->check(CLI::IsMember({"check"}));
  app.add_option("FILE", file, "a config.yaml, or what is below its `placement`")
      ->type_name("FILE")
      ->required();
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "policy", args)) return *code;
  const bool as_json = output == "json";
  const auto right = checked(file);
  if (!right) return report_wrong(with, right.error(), as_json);
  json answer = {{"policies", json::array()}};
  const bool runs = !with.engine.empty() || !places(with).empty();
  if (runs) {
    const auto engine = find_engine(with, "");
    if (!engine) return report(with, engine.error());
    const auto body = fetch(
        *engine, {.method = "POST", .target = "/api/v1/placement/check", .body = right->text});
    if (!body) return report(with, body.error());
    answer = reading::parsed(*body);
  }
  answer["problems"] = json::array();
  answer["engine"] = runs;
  if (as_json) {
    with.out << answer.dump(2) << "\n";
    return kExitOk;
  }
  with.out << file << " is right: " << right->policies
           << (right->policies == 1 ? " policy" : " policies")
           << (runs ? "\n" : "; no engine runs for which they would choose\n")
           << view::policies_text(reading::array(answer, "policies"));
  return kExitOk;
}

}  // namespace sluice::commands
