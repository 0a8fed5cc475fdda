#include "common/base/version.h"
#include "common/program/command_line.h"
#include "queue-proxy/io/config.h"

#include "programs/queue-proxy/app.h"
#include <cstdio>
#include <string>
#include <utility>

int main(int argc, char** argv) {
  bool drain = false;
  sluice::program::CommandLine line{
      .name = "queue-proxy",
      .purpose = "the sidecar that measures, limits and proxies the requests of one pod",
      .version = std::string{sluice::kVersion},
      .flags = {{"--drain", "drain the running sidecar, wait until it is done, and exit", &drain}}};
  if (const auto code = sluice::program::parse(argc, argv, line)) return *code;
  const auto environment = sluice::settings::process_environment();
  if (drain) return sluice::queue_proxy::ask_to_drain(environment);
  auto config = sluice::queue_proxy::read_config(environment);
  if (!config) {
    std::fprintf(stderr, "queue-proxy: %s\n", config.error().text().c_str());
    return 1;
  }
  if (line.ready_fd >= 0) config->ready_fd = line.ready_fd;
  return sluice::queue_proxy::App{std::move(*config)}.run();
}
