#include "common/json/parse.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/explain_text.h"
#include <ostream>

namespace sluice::commands {

int run_explain(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Shows why a service has its replicas, what keeps it awake, and its last cold start.");
  std::string name;
  std::string at;
  std::string output = "text";
  bool awake = false;
  bool cold = false;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("--at", at, "point in time: 14:03:12, RFC 3339, or an age such as 5m")
      ->type_name("TIME");
  app.add_flag("--awake", awake, "only the requests that keep it awake");
  app.add_flag("--last-cold-start", cold, "only the phases of the last cold start");
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "explain", args)) {
    return *code;
  }
  if (awake && !at.empty()) {
    return report(with, {kExitUsage, "--awake covers the last minute only; remove --at"});
  }
  if (!at.empty()) {
    if (const auto moment = moment_of(with, "--at", at); !moment) {
      return report(with, moment.error());
    }
  }
  const auto found = find_service(with, name, Finds::running);
  if (!found) {
    return report(with, found.error());
  }
  const std::string query = at.empty() ? "" : "?at=" + url_encoded(at);
  const auto body = fetch(found->engine, {.target = found->path() + "/explain" + query});
  if (!body) {
    return report(with, body.error());
  }
  const auto explained = reading::parsed(*body);
  if (output == "json") {
    with.out << explained.dump(2) << "\n";
  } else if (cold) {
    with.out << view::waterfall_text(explained);
  } else {
    with.out << (awake ? view::awake_text(explained) : view::explain_text(explained));
  }
  return kExitOk;
}

}  // namespace sluice::commands
