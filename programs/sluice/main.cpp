#include "load/io/options.h"
#include "load/run_load.h"
#include "programs/sluice/commands/commands.h"
#include "programs/sluice/engine/demo_app.h"
#include "programs/sluice/engine/run_engine.h"
#include <nss.h>
#include <string_view>

int main(int argc, char** argv) {
  // Not a verb: the program that `up --demo` runs.
  if (argc == 2 && std::string_view{argv[1]} == "demo-app") return sluice::local::run_demo_app();
  // This program is one static file: it loads none of the machine's modules for names, which are
  // made for the machine's own C library.
  __nss_configure_lookup("hosts", "files dns");
  __nss_configure_lookup("passwd", "files");
  return sluice::commands::run(argc, argv, sluice::local::run_engine,
                               {sluice::loadgen::run_load, sluice::loadgen::show_flags});
}
