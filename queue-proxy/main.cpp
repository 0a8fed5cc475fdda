#include "queue-proxy/app.h"
#include "queue-proxy/config.h"
#include "queue-proxy/version.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  CLI::App cli{
      "queue-proxy: the sidecar that measures, limits and proxies the requests of one pod"};
  cli.footer("It is configured by environment variables; README.md lists them.");
  bool drain = false;
  int ready_fd = -1;
  cli.add_flag("--drain", drain, "ask the running sidecar to drain, wait until it has, and exit");
  cli.add_option("--ready-fd", ready_fd,
                 "write one line to this descriptor once all ports are bound");
  cli.set_version_flag("--version", "queue-proxy " + std::string{sluice::queue_proxy::kVersion});
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : 2;
  }
  const auto variable = [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    return value;
  };
  if (drain) return sluice::queue_proxy::ask_to_drain(variable);
  auto config = sluice::queue_proxy::read_config(variable);
  if (!config) {
    std::fprintf(stderr, "queue-proxy: %s\n", config.error().text().c_str());
    return 1;
  }
  if (ready_fd >= 0) config->ready_fd = ready_fd;
  return sluice::queue_proxy::App{std::move(*config)}.run();
}
