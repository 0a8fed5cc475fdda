#pragma once

#include "programs/sluice/commands/flag_table.h"
#include "programs/sluice/commands/verb.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::commands {

/// The arguments after the verb's name; each returns the exit code.
using Arguments = std::vector<std::string>;

[[nodiscard]] int run_apply(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_completion(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_config(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_dashboard(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_delete(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_doctor(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_down(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_drain(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_explain(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_get(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_history(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_inject(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_install(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_logs(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_move(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_places(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_policy(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_record(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_revisions(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_scale(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_simulate(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_sleep(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_top(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_trace(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_traffic(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_undrain(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_uninject(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_uninstall(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_version(const Surroundings& with, const Arguments& args);
[[nodiscard]] int run_wake(const Surroundings& with, const Arguments& args);

/// Prints names for the scripts of `completion`; not listed among the verbs.
[[nodiscard]] int run_complete_names(const Surroundings& with, const Arguments& args);

/// `again` runs another command line.
[[nodiscard]] int run_help(const Surroundings& with, const Arguments& args,
                           const std::function<int(const Arguments&)>& again);

/// The command line of every verb that help lists, in the same order.
[[nodiscard]] std::vector<VerbTable> verb_tables(const Surroundings& with);

/// Parses `args`; the exit code when the verb is to end here (help, or a wrong flag).
[[nodiscard]] std::optional<int> ends_early(const Surroundings& with, CLI::App& app,
                                            std::string_view verb, const Arguments& args);

/// Runs one command line, without the program's name (commands.h).
[[nodiscard]] int run_verb(const Surroundings& with, const Arguments& args,
                           const std::function<int(const Arguments&)>& up,
                           const std::function<int(const Arguments&)>& load);

}  // namespace sluice::commands
