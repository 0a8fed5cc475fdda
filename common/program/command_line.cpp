#include "common/program/command_line.h"

#include <CLI/CLI.hpp>

namespace sluice::program {

std::optional<int> parse(int argc, char** argv, CommandLine& line) {
  CLI::App cli{line.name + ": " + line.purpose};
  cli.footer("Environment variables configure it; README.md lists them.");
  for (const CommandLine::Flag& flag : line.flags) {
    cli.add_flag(flag.name, *flag.given, flag.meaning);
  }
  cli.add_option("--ready-fd", line.ready_fd,
                 "write one line to this descriptor once all ports are bound");
  cli.set_version_flag("--version", line.name + " " + line.version);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

}  // namespace sluice::program
