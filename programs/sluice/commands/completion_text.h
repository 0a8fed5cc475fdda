#pragma once

#include "programs/sluice/commands/flag_table.h"
#include "programs/sluice/commands/usage.h"
#include <span>
#include <string>
#include <vector>

namespace sluice::commands {

/// What a shell completes by.
struct CompletionTables {
  std::span<const FlagLine> before_verb;
  std::span<const VerbTable> verbs;
};

/// The hidden verb that the scripts call for names of running services and engines.
inline constexpr const char* kNamesVerb = "complete-names";

/// Scripts for `eval`, or for the shell's own folder of completions.
[[nodiscard]] std::string bash_completion(const CompletionTables& tables);
[[nodiscard]] std::string zsh_completion(const CompletionTables& tables);
[[nodiscard]] std::string fish_completion(const CompletionTables& tables);

}  // namespace sluice::commands
