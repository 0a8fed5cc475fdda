#include "autoscaler/app.h"
#include "autoscaler/config.h"
#include "autoscaler/version.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  CLI::App cli{"autoscaler: decides how many replicas of each revision should run"};
  cli.footer("It is configured by environment variables; README.md lists them.");
  int ready_fd = -1;
  cli.add_option("--ready-fd", ready_fd,
                 "write one line to this descriptor once all ports are bound");
  cli.set_version_flag("--version", "autoscaler " + std::string{sluice::autoscaler::kVersion});
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
  auto config = sluice::autoscaler::read_config(variable);
  if (!config) {
    std::fprintf(stderr, "autoscaler: %s\n", config.error().text().c_str());
    return 78;
  }
  if (ready_fd >= 0) config->ready_fd = ready_fd;
  return sluice::autoscaler::App{std::move(*config)}.run();
}
