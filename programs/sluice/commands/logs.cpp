#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_logs(const Surroundings& with, const Arguments& args) {
  CLI::App app("Output of replicas, also of dead ones.");
  std::string name;
  std::string replica;
  int tail = 100;
  bool follow = false;
  bool previous = false;
  app.add_option("SERVICE", name, "SERVICE or ENGINE/SERVICE")->required();
  app.add_flag("-f,--follow", follow, "go on with new lines");
  app.add_option("--tail", tail, "so many old lines (100)")->check(CLI::Range(0, 10'000));
  app.add_option("--replica", replica, "only this one")->type_name("ID");
  app.add_flag("--previous", previous, "only replicas that are gone");
  if (const auto code = ends_early(with, app, "logs", args)) {
    return *code;
  }
  const auto found = find_service(with, name);
  if (!found) {
    return report(with, found.error());
  }
  std::string target = found->path() + "/logs?tail=" + std::to_string(tail);
  target += replica.empty() ? "" : "&replica=" + url_encoded(replica);
  target += previous ? "&previous=1" : "";
  if (!follow) {
    const auto body = fetch(found->engine, {.target = target});
    if (!body) {
      return report(with, body.error());
    }
    with.out << *body;
    return kExitOk;
  }
  const auto problem =
      ApiClient(found->engine).follow(target + "&follow=1", [&](std::string_view text) {
        with.out << text << std::flush;
        return with.out.good();
      });
  return problem ? report(with, {kExitUnavailable, problem->text()}) : kExitOk;
}

}  // namespace sluice::commands
