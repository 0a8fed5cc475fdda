#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/places_text.h"
#include <ostream>

namespace sluice::commands {

int run_places(const Surroundings& with, const Arguments& args) {
  CLI::App app("Lists where replicas can run, what is used there and what is left.");
  std::string name;
  std::string output = "table";
  app.add_option("ENGINE", name, "the engine, when several run");
  app.add_option("-o,--output", output, "table or json")->check(CLI::IsMember({"table", "json"}));
  if (const auto code = ends_early(with, app, "places", args)) {
    return *code;
  }
  const auto engine = find_engine(with, name);
  if (!engine) {
    return report(with, engine.error());
  }
  const auto body = fetch(*engine, {.target = "/api/v1/places?limit=1000"});
  if (!body) {
    return report(with, body.error());
  }
  const auto page = reading::parsed(*body);
  const auto& items = reading::array(page, "items");
  with.out << (output == "json" ? items.dump(2) + "\n" : view::places_text(items));
  return kExitOk;
}

}  // namespace sluice::commands
