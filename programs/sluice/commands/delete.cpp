#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_delete(const Surroundings& with, const Arguments& args) {
  CLI::App app("Removes a service of a running engine; its replicas drain.");
  std::string name;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  if (const auto code = ends_early(with, app, "delete", args)) {
    return *code;
  }
  const auto found = find_service(with, name, Finds::services);
  if (!found) {
    return report(with, found.error());
  }
  const auto body = fetch(found->engine, {.method = "DELETE", .target = found->path()});
  if (!body) {
    return report(with, body.error());
  }
  with.out << "service " << found->service << " removed\n";
  return kExitOk;
}

}  // namespace sluice::commands
