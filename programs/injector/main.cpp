#include "common/base/version.h"
#include "common/program/command_line.h"

#include "programs/injector/app.h"
#include "programs/injector/config.h"
#include <cstdio>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  sluice::program::CommandLine line{.name = "injector",
                                    .purpose = "the webhook that adds the sidecar to pods",
                                    .version = std::string{sluice::kVersion}};
  if (const auto code = sluice::program::parse(argc, argv, line)) return *code;
  auto config = sluice::injector::read_config(sluice::settings::process_environment());
  if (!config) {
    std::fprintf(stderr, "injector: %s\n", config.error().text().c_str());
    return 1;
  }
  if (line.ready_fd >= 0) config->ready_fd = line.ready_fd;
  return sluice::injector::App{std::move(*config)}.run();
}
