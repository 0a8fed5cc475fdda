#pragma once

#include "programs/sluice/commands/flag_table.h"
#include "programs/sluice/commands/up.h"
#include <optional>
#include <span>
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

/// A word of other tools that people try as a verb, and what to use here.
struct OtherWord {
  std::string_view word;
  std::string_view use;
};

[[nodiscard]] std::span<const OtherWord> other_words();

/// What `typed` means here, as one line; empty for a word that is in no table.
[[nodiscard]] std::string use_instead(std::string_view typed);

struct ExitLine {
  int status;
  std::string_view meaning;
};

[[nodiscard]] std::span<const ExitLine> exit_lines();

/// The flags that stand before the verb.
[[nodiscard]] std::span<const FlagLine> flags_before_verb();

/// `sluice --help`.
[[nodiscard]] std::string general_help();

/// The one of `known` that `typed` was probably meant to be; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view typed, const std::vector<std::string>& known);

/// Parses `args` with `app`, the flags of `verb`. Nothing when all is well; else what to print: the
/// help (two examples first), or what is wrong with a suggestion.
[[nodiscard]] std::optional<UsageProblem> parse_flags(CLI::App& app, std::string_view verb,
                                                      std::vector<std::string> args);

}  // namespace sluice::commands
