#include "common/base/version.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {

int run_version(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints the version.");
  std::string output = "text";
  app.add_option("-o,--output", output, "text or json")->check(CLI::IsMember({"text", "json"}));
  if (const auto code = ends_early(with, app, "version", args)) {
    return *code;
  }
  if (output == "json") {
    with.out << nlohmann::json{{"version", std::string(kVersion)}}.dump() << "\n";
  } else {
    with.out << "sluice " << kVersion << "\n";
  }
  return kExitOk;
}

}  // namespace sluice::commands
