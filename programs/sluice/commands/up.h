#pragma once

#include "programs/sluice/commands/up_options.h"
#include "programs/sluice/commands/verb.h"
#include <string>
#include <vector>

namespace sluice::commands {

/// The lines that `up` without anything to run prints (one-machine.md 1).
inline constexpr const char* kUpHelpLines =
    "sluice up -- COMMAND ARG...   run a program that listens on $PORT\n"
    "sluice up --image IMAGE       run an image, with podman or docker\n"
    "sluice up -f FILE             run the services of a file or directory\n"
    "sluice up --demo              run the built-in app";

/// A wrong use of flags; exit code 2. Empty text with `help` means that help was asked for.
struct UsageProblem {
  UsageProblem() = default;

  UsageProblem(std::string message, bool wants_help) : text(std::move(message)), help(wants_help) {}

  std::string text;
  bool help = false;  ///< text is the help itself; exit code 0
};

/// Reads the arguments after `up`.
[[nodiscard]] Result<UpOptions, UsageProblem> parse_up(const std::vector<std::string>& args);

/// The service of the command form and of --demo.
[[nodiscard]] local::ServiceSpec command_service(const UpOptions& options);

/// Shows the flags of `up`.
void show_up_flags(const FlagSink& see);

}  // namespace sluice::commands
