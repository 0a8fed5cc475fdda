#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/tables.h"
#include <ostream>

namespace sluice::commands {

int run_history(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints decisions that changed something, newest last.");
  std::string name;
  std::string since = "10m";
  std::string output = "table";
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("--since", since, "an age such as 10m, or a time (10m)")->type_name("AGE");
  app.add_option("-o,--output", output, "table or json")->check(CLI::IsMember({"table", "json"}));
  if (const auto code = ends_early(with, app, "history", args)) {
    return *code;
  }
  if (const auto moment = moment_of(with, "--since", since); !moment) {
    return report(with, moment.error());
  }
  const auto found = find_service(with, name, Finds::running);
  if (!found) {
    return report(with, found.error());
  }
  const auto body = fetch(
      found->engine, {.target = found->path() + "/history?limit=1000&since=" + url_encoded(since)});
  if (!body) {
    return report(with, body.error());
  }
  const auto page = reading::parsed(*body);
  const auto& items = reading::array(page, "items");
  const auto& gaps = reading::array(page, "not_kept");
  if (output == "json") {
    with.out << items.dump(2) << "\n";
    with.err << view::gaps_text(gaps);
  } else {
    with.out << view::history_text(items, gaps);
  }
  return kExitOk;
}

}  // namespace sluice::commands
