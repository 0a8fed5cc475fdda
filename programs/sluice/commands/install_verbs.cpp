#include <CLI/CLI.hpp>

#include "programs/sluice/commands/install.h"
#include "programs/sluice/commands/verbs.h"
#include <ostream>

namespace sluice::commands {
namespace {

void add_flags(CLI::App& app, Installation& installation) {
  app.add_option("--profile", installation.profile, "small, standard or ha (standard)")
      ->type_name("small|standard|ha");
  app.add_option("--namespace", installation.space,
                 "namespace of the installation (sluice-system)");
  app.add_option("--image-registry", installation.registry, "registry of the images (sluice.dev)");
}

int print(const Surroundings& with, const Result<std::string, Problem>& text) {
  if (!text) return report(with, {kExitUsage, text.error().text()});
  with.out << *text;
  return kExitOk;
}

}  // namespace

int run_install(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints the objects of an installation in a cluster, for kubectl apply.");
  Installation installation;
  add_flags(app, installation);
  if (const auto code = ends_early(with, app, "install", args)) return *code;
  return print(with, install_text(installation));
}

int run_uninstall(const Surroundings& with, const Arguments& args) {
  CLI::App app("Prints the same objects for kubectl delete, without the RequestScaler CRD.");
  Installation installation;
  bool crds = false;
  add_flags(app, installation);
  app.add_flag("--crds", crds, "with the RequestScaler CRD, which deletes every RequestScaler");
  if (const auto code = ends_early(with, app, "uninstall", args)) return *code;
  return print(with, uninstall_text(installation, crds));
}

}  // namespace sluice::commands
