#pragma once

#include "programs/sluice/commands/up.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::commands {

/// The verbs in the order help lists them, with one line each.
struct VerbLine {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  ///< two lines
};

[[nodiscard]] const std::vector<VerbLine>& verb_lines();

/// `sluice --help`.
[[nodiscard]] std::string general_help();

/// The one of `known` that `typed` was probably meant to be; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// Parses `args` with `app`, the flags of `verb`. Nothing when all is well; else what to print: the
/// help (two examples first), or what is wrong with a suggestion.
[[nodiscard]] std::optional<UsageProblem> parse_flags(CLI::App& app, std::string_view verb,
                                                      std::vector<std::string> args);

}  // namespace sluice::commands
