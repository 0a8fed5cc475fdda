#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::program {

/// The command line of a service, which is configured by its environment and has few options.
struct CommandLine {
  /// An option that is there or not.
  struct Flag {
    std::string name;  ///< --drain
    std::string meaning;
    bool* given;  ///< set when it is there
  };

  std::string name;     ///< of the program
  std::string purpose;  ///< half a sentence
  std::string version;
  std::vector<Flag> flags = {};
  int ready_fd = -1;  ///< the value of --ready-fd; -1: none
};

/// Reads the arguments into `line`. An exit code if the program ends here: 0 after --help and
/// --version, 2 after an option that is not there; what is to be said was said.
[[nodiscard]] std::optional<int> parse(int argc, char** argv, CommandLine& line);

}  // namespace sluice::program
