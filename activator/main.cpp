#include "activator/app.h"
#include "activator/config.h"
#include "activator/version.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

int main(int argc, char** argv) {
  CLI::App cli{"activator: holds requests until a pod can take them, wakes it, and chooses it"};
  cli.footer("It is configured by environment variables; README.md lists them.");
  int ready_fd = -1;
  cli.add_option("--ready-fd", ready_fd,
                 "write one line to this descriptor once all ports are bound");
  cli.set_version_flag("--version", "activator " + std::string{sluice::activator::kVersion});
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
  std::ifstream file{"/etc/resolv.conf"};
  const std::string resolv{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  auto config = sluice::activator::read_config(variable, resolv);
  if (!config) {
    std::fprintf(stderr, "activator: %s\n", config.error().text().c_str());
    return 1;
  }
  if (ready_fd >= 0) config->ready_fd = ready_fd;
  return sluice::activator::App{std::move(*config)}.run();
}
