#include "programs/sluice/commands/commands.h"

#include "common/api/change_access.h"
#include "common/files/file_io.h"

#include <CLI/CLI.hpp>

#include "programs/sluice/commands/completion_text.h"
#include "programs/sluice/commands/detach.h"
#include "programs/sluice/commands/up.h"
#include "programs/sluice/commands/up_session.h"
#include "programs/sluice/commands/up_target.h"
#include "programs/sluice/commands/usage.h"
#include "programs/sluice/commands/verbs.h"
#include <algorithm>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>
#include <utility>

namespace sluice::commands {
namespace {

using Verb = int (*)(const Surroundings&, const Arguments&);

constexpr std::pair<std::string_view, Verb> kVerbs[] = {
    {"apply", run_apply},
    {"completion", run_completion},
    {"config", run_config},
    {"dashboard", run_dashboard},
    {"delete", run_delete},
    {"doctor", run_doctor},
    {"down", run_down},
    {"drain", run_drain},
    {"explain", run_explain},
    {"get", run_get},
    {"history", run_history},
    {"inject", run_inject},
    {"install", run_install},
    {"logs", run_logs},
    {"move", run_move},
    {"places", run_places},
    {"policy", run_policy},
    {"record", run_record},
    {"revisions", run_revisions},
    {"scale", run_scale},
    {"simulate", run_simulate},
    {"sleep", run_sleep},
    {"top", run_top},
    {"trace", run_trace},
    {"traffic", run_traffic},
    {"undrain", run_undrain},
    {"uninject", run_uninject},
    {"uninstall", run_uninstall},
    {"version", run_version},
    {"wake", run_wake},
    {kNamesVerb, run_complete_names},
};

// A file that is opened later must not get the number of a closed standard stream, and with it what
// is printed.
void open_standard_streams() {
  while (true) {
    const int number = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (number < 0) return;
    if (number > STDERR_FILENO) {
      ::close(number);
      return;
    }
    ::fcntl(number, F_SETFD, 0);
  }
}

int unknown_verb(const Surroundings& with, const std::string& word) {
  if (const std::string use = use_instead(word); !use.empty()) {
    return report(with, {kExitUsage, use});
  }
  std::vector<std::string> known;
  const bool is_flag = word.starts_with("-");
  if (is_flag) {
    for (const FlagLine& line : flags_before_verb()) {
      known.insert(known.end(), line.names.begin(), line.names.end());
    }
  } else {
    for (const VerbLine& line : verb_lines()) known.emplace_back(line.name);
  }
  const std::string meant = nearest(word, known);
  const std::string fix = !meant.empty() ? "did you mean " + meant + "?"
                          : is_flag      ? "flags of a verb stand after it; see: sluice --help"
                                         : "see: sluice --help";
  return report(with, {kExitUsage, std::string("unknown ") + (is_flag ? "flag " : "verb ") + word +
                                       (is_flag ? " before the verb; " : "; ") + fix});
}

// Verbs that an autoscaler's API answers as an engine's does.
constexpr std::string_view kServerVerbs[] = {"explain", "get",   "history", "record",
                                             "scale",   "sleep", "top",     "wake"};

Result<std::string, Problem> token_in(const std::string& path) {
  auto content = files::read_file(path);
  if (!content || !*content) {
    return Problem{"--token-file: " + path + " cannot be read", "name the file of the token"};
  }
  return api::token_in(**content);
}

// Takes `NAME VALUE` or `NAME=VALUE` at `at` out of `args`; nothing when another word is there.
Result<std::optional<std::string>, Problem> take_flag(Arguments& args, Arguments::iterator& at,
                                                      const std::string& name,
                                                      const std::string& value) {
  std::optional<std::string> taken;
  if (at->starts_with(name + "=")) {
    taken = at->substr(name.size() + 1);
  } else if (*at == name) {
    if (at + 1 != args.end()) {
      at = args.erase(at);
      taken = *at;
    }
    if (!taken || taken->starts_with("-")) {
      return Problem{name + ": the value is missing", "give " + name + " " + value};
    }
  }
  if (taken) at = args.erase(at);
  return taken;
}

// Takes `--server URL` and `--token-file FILE` from the front of `args`.
std::optional<Problem> take_server(Arguments& args, std::optional<ApiPlace>& server) {
  std::string token;
  for (auto at = args.begin(); at != args.end();) {
    const auto url = take_flag(args, at, "--server", "URL");
    if (!url) return url.error();
    if (*url) {
      auto place = parse_server(**url);
      if (!place) return place.error();
      server = std::move(*place);
      continue;
    }
    const auto file = take_flag(args, at, "--token-file", "FILE");
    if (!file) return file.error();
    if (!*file) break;
    auto read = token_in(**file);
    if (!read) return read.error();
    token = std::move(*read);
  }
  if (!token.empty() && !server)
    return Problem{"--token-file is for --server", "give --server URL"};
  if (server) server->token = std::move(token);
  if (!server || args.empty() || args[0].starts_with("-")) return std::nullopt;
  if (std::find(std::begin(kServerVerbs), std::end(kServerVerbs), args[0]) !=
      std::end(kServerVerbs)) {
    return std::nullopt;
  }
  return Problem{args[0] + " is not for a server",
                 "with --server: explain, get, history, record, scale, sleep, top, wake"};
}

// Prints help, or what is wrong; returns the exit code.
int tell(const Surroundings& with, const UsageProblem& problem) {
  (problem.help ? with.out : with.err) << problem.text << "\n";
  return problem.help ? kExitOk : kExitUsage;
}

// The flags of `load` are of another room, and so is what they mean together.
std::optional<int> load_ends_early(const Surroundings& with, const Arguments& args) {
  std::optional<int> code;
  if (!with.show_load_flags) return code;
  if (!args.empty() && args.front() == "compare" && with.show_compare_flags) {
    with.show_compare_flags([&](CLI::App& app) {
      const auto wrong = parse_flags(app, "load compare", {args.begin() + 1, args.end()});
      if (wrong) code = tell(with, *wrong);
    });
    return code;
  }
  if (const auto foreign = with.foreign_load_flag(args)) {
    return report(with, {kExitUsage, foreign->text()});
  }
  with.show_load_flags([&](CLI::App& app) {
    if (const auto wrong = parse_flags(app, "load", args)) code = tell(with, *wrong);
  });
  return code;
}

// The engine may end, or another `up` start it, between the look and the deed.
constexpr int kTries = 100;

int run_up(const Surroundings& with, const Arguments& args, const UpRunner& up) {
  auto parsed = parse_up(args);
  if (!parsed) return tell(with, parsed.error());
  int code = kNameHeld;
  for (int tries = 0; code == kNameHeld && tries < kTries; ++tries) {
    const auto target = find_up_target(with, *parsed);
    if (!target) return report(with, target.error());
    UpOptions options = *parsed;
    options.engine = target->engine;
    if (target->running) {
      code = run_session(with, options, *target->running);
      continue;
    }
    if (options.has_command_form()) options.service = command_service(options);
    code = options.detach ? run_detached(with, std::move(options), up) : up(options);
  }
  if (code != kNameHeld) return code;
  return report(with, {kExitUnavailable, "the engine ends and starts again and again; try again"});
}

// Verbs that find an engine by themselves.
constexpr std::string_view kEngineVerbs[] = {
    "apply",   "dashboard", "delete", "down",    "drain",   "explain", "get",
    "history", "logs",      "move",   "places",  "policy",  "record",  "revisions",
    "scale",   "sleep",     "top",    "traffic", "undrain", "wake"};

bool finds_engine(std::string_view verb) {
  return std::find(std::begin(kEngineVerbs), std::end(kEngineVerbs), verb) !=
         std::end(kEngineVerbs);
}

// Takes `--engine NAME` from the flags of a verb, which are alike in all of them.
std::optional<Problem> take_engine(Arguments& flags, std::string& engine) {
  for (auto at = flags.begin(); at != flags.end();) {
    const auto name = take_flag(flags, at, "--engine", "NAME");
    if (!name) return name.error();
    if (*name) {
      engine = **name;
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> ends_early(const Surroundings& with, CLI::App& app, std::string_view verb,
                              const Arguments& args) {
  std::string taken;  // by take_engine; here for the help
  if (finds_engine(verb)) {
    app.add_option("--engine", taken, "the engine, when several run")->type_name("NAME");
  }
  if (with.see_flags) {
    with.see_flags(app);
    return kExitOk;
  }
  const auto wrong = parse_flags(app, verb, args);
  return wrong ? std::optional{tell(with, *wrong)} : std::nullopt;
}

std::vector<VerbTable> verb_tables(const Surroundings& here) {
  VerbTable table;
  Surroundings with = here;
  with.see_flags = [&table](const CLI::App& app) { table = table_of(app); };
  std::vector<VerbTable> tables;
  for (const VerbLine& line : verb_lines()) {
    table = {};
    if (line.name == "up") show_up_flags(with.see_flags);
    if (line.name == "load" && with.show_load_flags) with.show_load_flags(with.see_flags);
    if (line.name == "help") (void)run_help(with, {}, {});
    for (const auto& [name, verb] : kVerbs) {
      if (name == line.name) (void)verb(with, {});
    }
    table.name = line.name;
    table.summary = line.summary;
    table.examples = line.examples;
    tables.push_back(std::move(table));
  }
  return tables;
}

int run_verb(const Surroundings& here, const Arguments& given,
             const std::function<int(const Arguments&)>& up,
             const std::function<int(const Arguments&)>& load) {
  Surroundings with = here;
  Arguments args = given;
  if (const auto wrong = take_server(args, with.server)) {
    return report(with, {kExitUsage, wrong->text()});
  }
  if (args.empty()) {
    with.err << general_help();
    return kExitUsage;
  }
  const std::string& word = args.front();
  Arguments rest(args.begin() + 1, args.end());
  if (finds_engine(word)) {
    if (const auto wrong = take_engine(rest, with.engine)) {
      return report(with, {kExitUsage, wrong->text()});
    }
  }
  if (word == "--help" || word == "-h") {
    with.out << general_help();
    return kExitOk;
  }
  if (word == "help") {
    return run_help(with, rest,
                    [&](const Arguments& line) { return run_verb(with, line, up, load); });
  }
  if (word == "--version" || word == "-v" || word == "-V") {
    return run_version(with, rest);
  }
  if (word == "up") {
    return up(rest);
  }
  if (word == "load") {
    const auto code = load_ends_early(with, rest);
    return code ? *code : load(rest);
  }
  for (const auto& [name, verb] : kVerbs) {
    if (name == word) {
      return verb(with, rest);
    }
  }
  return unknown_verb(with, word);
}

int run(int argc, char** argv, const UpRunner& up, const LoadVerb& load) {
  open_standard_streams();
  try {
    const Arguments args(argv + (argc > 0 ? 1 : 0), argv + argc);
    const auto roots = local::path_roots(local::process_env, ::geteuid());
    if (!roots) {
      std::cerr << roots.error().text() << "\n";
      return kExitConfig;
    }
    const Clock clock;
    const Surroundings with{.out = std::cout,
                            .err = std::cerr,
                            .clock = clock,
                            .roots = *roots,
                            .terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0,
                            .show_load_flags = load.show_flags,
                            .foreign_load_flag = load.foreign_flag,
                            .show_compare_flags = load.show_compare_flags};
    const int code = run_verb(
        with, args, [&](const Arguments& rest) { return run_up(with, rest, up); }, load.run);
    if (std::cout.flush() || code != kExitOk) return code;
    std::cerr << "standard output cannot be written; what is missing of it was not printed\n";
    return kExitFailure;
  } catch (const std::exception& failed) {
    std::cerr << "sluice failed: " << failed.what() << "\n";
    return kExitFailure;
  }
}

}  // namespace sluice::commands
