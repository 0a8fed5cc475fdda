#include "common/json/parse.h"
#include "common/json/read.h"

#include <CLI/CLI.hpp>

#include "programs/sluice/commands/verbs.h"
#include <algorithm>
#include <ostream>
#include <poll.h>

namespace sluice::commands {
namespace {

constexpr Duration kGonePatience = std::chrono::seconds{5};
constexpr int kLookMilliseconds = 10;

// The engine answers before it ends: its name is free for the next `up` only afterwards.
void wait_until_gone(const Surroundings& with, const std::string& engine) {
  const TimePoint deadline = with.clock.now() + kGonePatience;
  while (with.clock.now() < deadline) {
    const auto running = local::running_engines(with.roots.runtime);
    const auto named = [&](const local::RunningEngine& one) { return one.name == engine; };
    if (std::none_of(running.begin(), running.end(), named)) {
      return;
    }
    ::poll(nullptr, 0, kLookMilliseconds);
  }
}

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
  // Drain and stop times of a service are its own; the engine ends within a minute and a half.
  const auto body =
      fetch(*engine,
            {.method = "POST", .target = "/api/v1/shutdown", .timeout = std::chrono::seconds{90}});
  if (!body) {
    return report(with, body.error());
  }
  wait_until_gone(with, engine->name);
  const auto result = reading::parsed(*body);
  const auto count = [&](const char* key) { return reading::whole(result, key).value_or(0); };
  with.out << "engine " << engine->name << ": stopped " << count("stopped")
           << (count("stopped") == 1 ? " replica, " : " replicas, ") << count("cut")
           << (count("cut") == 1 ? " request cut\n" : " requests cut\n");
  return kExitOk;
}

}  // namespace sluice::commands
