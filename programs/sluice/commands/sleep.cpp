#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_sleep(const Surroundings& with, const Arguments& args) {
  CLI::App app("Drains a service to zero now; the next request wakes it.");
  std::string name;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  if (const auto code = ends_early(with, app, "sleep", args)) {
    return *code;
  }
  const auto found = find_service(with, name, Finds::running);
  if (!found) {
    return report(with, found.error());
  }
  const auto body = fetch(found->engine, {.method = "POST", .target = found->path() + "/sleep"});
  if (!body) {
    return report(with, body.error());
  }
  const bool asleep = reading::text(reading::parsed(*body), "state") == "asleep";
  with.out << found->title() << (asleep ? " is asleep" : " is draining to zero")
           << "; the next request wakes it\n";
  return kExitOk;
}

}  // namespace sluice::commands
