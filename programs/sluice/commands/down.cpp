#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>

#include "programs/sluice/commands/up_target.h"
#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {
namespace {

// From its answer to its end an engine only closes files.
constexpr Duration kGonePatience = std::chrono::seconds{20};

}  // namespace

int run_down(const Surroundings& with, const Arguments& args) {
  CLI::App app("Stops an engine and prints what was stopped.");
  std::string name;
  app.add_option("ENGINE", name, "the engine, when several run");
  if (const auto code = ends_early(with, app, "down", args)) {
    return *code;
  }
  const auto engine = find_engine(with, name);
  if (!engine) {
    return report(with, engine.error());
  }
  // By its pid: another engine may take the name at once.
  const std::string holder =
      local::name_holder(local::EnginePaths(with.roots, engine->name)).value_or("");
  const auto body =
      fetch(*engine, {.method = "POST", .target = "/api/v1/shutdown", .timeout = kEngineEnds});
  if (!body) {
    return report(with, body.error());
  }
  if (!wait_until_released(with, engine->name, holder, kGonePatience)) {
    return report(with, {kExitFailure, "engine " + engine->name + " (pid " + holder +
                                           ") has stopped its services and does not end; end it: "
                                           "kill -9 " +
                                           holder});
  }
  const auto result = reading::parsed(*body);
  const auto count = [&](const char* key) { return reading::whole(result, key).value_or(0); };
  with.out << "engine " << engine->name << ": stopped " << count("stopped")
           << (count("stopped") == 1 ? " replica, " : " replicas, ") << count("cut")
           << (count("cut") == 1 ? " request cut\n" : " requests cut\n");
  return kExitOk;
}

}  // namespace sluice::commands
