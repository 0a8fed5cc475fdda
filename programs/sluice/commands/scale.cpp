#include "common/json/parse.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/fields.h"
#include <ostream>

namespace sluice::commands {

int run_scale(const Surroundings& with, const Arguments& args) {
  CLI::App app("Sets live bounds, which last until a changed spec is applied.");
  std::string name;
  std::int32_t min = 0;
  std::int32_t max = 0;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("--min", min, "minimum replicas")->check(CLI::Range(0, 1'000'000));
  app.add_option("--max", max, "maximum replicas; 0 = no bound")->check(CLI::Range(0, 1'000'000));
  if (const auto code = ends_early(with, app, "scale", args)) {
    return *code;
  }
  nlohmann::json bounds = nlohmann::json::object();
  if (app.count("--min") > 0) {
    bounds["min"] = min;
  }
  if (app.count("--max") > 0) {
    bounds["max"] = max;
  }
  if (bounds.empty()) {
    return report(with, {kExitUsage, "give --min N, --max N or both"});
  }
  if (bounds.size() == 2 && max > 0 && min > max) {
    return report(with, {kExitUsage, "--min is above --max; raise --max or lower --min"});
  }
  const auto found = find_service(with, name, Finds::running);
  if (!found) {
    return report(with, found.error());
  }
  const auto body = fetch(
      found->engine, {.method = "POST", .target = found->path() + "/scale", .body = bounds.dump()});
  if (!body) {
    return report(with, body.error());
  }
  with.out << found->title() << ": bounds " << view::bounds_text(reading::parsed(*body))
           << " until a changed spec is applied\n";
  return kExitOk;
}

}  // namespace sluice::commands
