#include "common/base/version.h"
#include "common/program/command_line.h"

#include "programs/activator/app.h"
#include "programs/activator/config.h"
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  sluice::program::CommandLine line{
      .name = "activator",
      .purpose = "holds requests until a pod can take them, wakes the service and chooses the pod",
      .version = std::string{sluice::kVersion}};
  if (const auto code = sluice::program::parse(argc, argv, line)) return *code;
  std::ifstream file{"/etc/resolv.conf"};
  const std::string resolv{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  auto config = sluice::activator::read_config(sluice::settings::process_environment(), resolv);
  if (!config) {
    std::fprintf(stderr, "activator: %s\n", config.error().text().c_str());
    return 1;
  }
  if (line.ready_fd >= 0) config->ready_fd = line.ready_fd;
  return sluice::activator::App{std::move(*config)}.run();
}
