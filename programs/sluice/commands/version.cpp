#include "common/base/version.h"

#include "common/json/read.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_version(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints the version, and those of running engines.");
  std::string output = "text";
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "version", args)) {
    return *code;
  }
  nlohmann::json all = {{"version", std::string(kVersion)}, {"engines", nlohmann::json::array()}};
  for (const ApiPlace& engine : places(with)) {
    const auto program = program_of(engine);
    note_version(with, engine, program);
    all["engines"].push_back({{"name", engine.name},
                              {"version", reading::text(program, "version")},
                              {"pid", reading::whole(program, "pid").value_or(0)}});
  }
  if (output == "json") {
    with.out << all.dump() << "\n";
  } else {
    with.out << "sluice " << kVersion << "\n";
    for (const auto& engine : all["engines"]) {
      const std::string version = reading::text(engine, "version");
      with.out << "engine " << reading::text(engine, "name")
               << (version.empty() ? " does not answer" : " runs sluice " + version) << "\n";
    }
  }
  return kExitOk;
}

}  // namespace sluice::commands
