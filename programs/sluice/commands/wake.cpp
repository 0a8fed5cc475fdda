#include "common/json/parse.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platform/process/time_text.h"
#include "programs/sluice/commands/await_ready.h"
#include "programs/sluice/commands/verbs.h"
#include "programs/sluice/view/fields.h"
#include <ostream>
#include <poll.h>

namespace sluice::commands {
namespace {

// One look at the service every 20 ms: a cold start is seldom shorter.
constexpr int kWakeLookMilliseconds = 20;

}  // namespace

int run_wake(const Surroundings& with, const Arguments& args) {
  CLI::App app(
      "Starts at least one replica; exits when it is ready, or with 3 when it is not ready in "
      "time.");
  std::string name;
  std::string limit = "60s";
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_option("--timeout", limit, "how long to wait (60s)")->type_name("DUR");
  if (const auto code = ends_early(with, app, "wake", args)) {
    return *code;
  }
  const auto patience = local::parse_age(limit);
  if (!patience) {
    return report(with, {kExitUsage, "--timeout: " + limit + " is not a duration such as 10s"});
  }
  const auto found = find_service(with, name, Finds::running);
  if (!found) {
    return report(with, found.error());
  }
  const TimePoint begin = with.clock.now();
  auto body = fetch(found->engine, {.method = "POST", .target = found->path() + "/wake"});
  while (true) {
    if (!body) {
      return report(with, body.error());
    }
    const auto status = reading::parsed(*body);
    const Duration waited = with.clock.now() - begin;
    if (view::integer_field(status, "ready") > 0) {
      with.out << found->title() << " is ready after "
               << std::chrono::duration_cast<std::chrono::milliseconds>(waited).count() << " ms\n";
      return kExitOk;
    }
    const std::string state = view::text_field(status, "state");
    if (waited >= *patience || state == "failing") {
      return report(with, {kExitNotReady, not_ready_text(status)});
    }
    ::poll(nullptr, 0, kWakeLookMilliseconds);
    body = fetch(found->engine, {.target = found->path()});
  }
}

}  // namespace sluice::commands
