#include "sluice/commands/verbs.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ostream>

namespace sluice::commands {

int run_down(const Surroundings& with, const Arguments& args) {
  CLI::App app("Stops an engine and prints what was stopped.");
  std::string name;
  app.add_option("ENGINE", name, "which one, when several run");
  if (const auto code = ends_early(with, app, "down", args)) {
    return *code;
  }
  const auto engine = find_engine(with, name);
  if (!engine) {
    return report(with, engine.error());
  }
  // Drain and stop times of a service are its own; the engine ends within a minute and a half.
  const auto body =
      fetch(*engine,
            {.method = "POST", .target = "/api/v1/shutdown", .timeout = std::chrono::seconds{90}});
  if (!body) {
    return report(with, body.error());
  }
  const auto result = nlohmann::json::parse(*body, nullptr, false);
  const auto count = [&](const char* key) {
    return result.is_object() ? result.value(key, std::int64_t{0}) : 0;
  };
  with.out << "engine " << engine->name << ": stopped " << count("stopped")
           << (count("stopped") == 1 ? " replica, " : " replicas, ") << count("cut")
           << (count("cut") == 1 ? " request cut\n" : " requests cut\n");
  return kExitOk;
}

}  // namespace sluice::commands
