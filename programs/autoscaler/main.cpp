#include "common/base/exit_status.h"
#include "common/base/version.h"
#include "common/program/command_line.h"

#include "programs/autoscaler/app.h"
#include "programs/autoscaler/config.h"
#include <cstdio>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  sluice::program::CommandLine line{
      .name = "autoscaler",
      .purpose = "decides how many replicas of each revision should run",
      .version = std::string{sluice::kVersion}};
  if (const auto code = sluice::program::parse(argc, argv, line)) return *code;
  auto config = sluice::autoscaler::read_config(sluice::settings::process_environment());
  if (!config) {
    std::fprintf(stderr, "autoscaler: %s\n", config.error().text().c_str());
    return sluice::kExitConfig;
  }
  if (line.ready_fd >= 0) config->ready_fd = line.ready_fd;
  return sluice::autoscaler::App{std::move(*config)}.run();
}
