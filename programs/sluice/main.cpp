#include "load/io/compare_options.h"
#include "load/io/foreign_flags.h"
#include "load/io/options.h"
#include "load/run_load.h"
#include "platform/process/container_guard.h"
#include "programs/sluice/commands/commands.h"
#include "programs/sluice/commands/engine_socket.h"
#include "programs/sluice/engine/demo_app.h"
#include "programs/sluice/engine/run_engine.h"
#include <nss.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

int main(int argc, char** argv) {
  // Not verbs: the program that `up --demo` runs, and the one that ends after an engine.
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (argc == 2 && mode == "demo-app") return sluice::local::run_demo_app();
  if (argc == 4 && mode == sluice::local::kContainerGuard)
    return sluice::local::run_container_guard(argv[2], argv[3]);
  // This program is one static file: it loads none of the machine's modules for names, which are
  // made for the machine's own C library.
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  return sluice::commands::run(argc, argv, sluice::local::run_engine,
                               {[](std::vector<std::string> args) {
                                  return sluice::loadgen::run_load(std::move(args),
                                                                   sluice::commands::engine_socket);
                                },
                                sluice::loadgen::show_flags, sluice::loadgen::foreign_flag,
                                sluice::loadgen::show_compare_flags});
}
