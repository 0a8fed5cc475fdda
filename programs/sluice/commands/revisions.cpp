#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/tables.h"
#include <ostream>

namespace sluice::commands {

int run_revisions(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Lists the revisions of a service, the newest first, and which part of its requests "
      "each gets.");
  std::string name;
  std::string output = "table";
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("-o,--output", output, "table or json")->check(CLI::IsMember({"table", "json"}));
  if (const auto code = ends_early(with, app, "revisions", args)) {
    return *code;
  }
  const auto found = find_service(with, name, Finds::services);
  if (!found) {
    return report(with, found.error());
  }
  const auto body = fetch(found->engine, {.target = found->path() + "/revisions?limit=1000"});
  if (!body) {
    return report(with, body.error());
  }
  const auto page = reading::parsed(*body);
  const auto& items = reading::array(page, "items");
  with.out << (output == "json" ? items.dump(2) + "\n"
                                : view::revisions_text(items, with.clock.now()));
  return kExitOk;
}

}  // namespace sluice::commands
