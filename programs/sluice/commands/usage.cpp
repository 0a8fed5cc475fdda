#include "programs/sluice/commands/usage.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sluice::commands {
namespace {

// Typed by a person: longer words are not compared.
constexpr std::size_t kWordMax = 64;
constexpr std::size_t kShortWord = 4;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row.back();
}

std::string examples_of(std::string_view verb) {
  const std::string_view word = verb.substr(0, verb.find(' '));  // `load` of `load compare`
  for (const VerbLine& line : verb_lines()) {
    if (line.name == word) {
      return std::string(line.examples);
    }
  }
  return {};
}

std::string help_of(CLI::App& app, std::string_view verb) {
  // CLI11 closes the bracket.
  app.get_formatter()->label("OPTIONS", verb == "up" ? "FLAGS] [-- COMMAND ARG..." : "FLAGS");
  for (CLI::Option* option :
       app.get_options([](CLI::Option* each) { return each->nonpositional(); }))
    option->group("Flags");
  return "Examples:\n" + examples_of(verb) + "\n" + app.help();
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

std::string help_hint(std::string_view verb) {
  return "; see: sluice " + std::string(verb) + " --help";
}

// What a person most likely meant by a word that is no flag.
std::string hint_of_word(const CLI::App& app, std::string_view verb, const std::string& word) {
  const bool is_file = word.ends_with(".yaml") || word.ends_with(".yml");
  const std::string line = "sluice " + std::string(verb);
  if (is_file && app.get_option_no_throw("--file") != nullptr)
    return "; a file goes after -f: " + line + " -f " + word;
  if (verb == "up") return "; a command goes after --: " + line + " -- " + word;
  if (verb == "config") return "; sluice config prints the settings, with -o json also their types";
  return help_hint(verb);
}

UsageProblem unknown_argument(const CLI::App& app, std::string_view verb,
                              const std::string& argument) {
  if (argument.empty() || argument.front() != '-') {
    return {"unexpected argument " + argument + hint_of_word(app, verb, argument), false};
  }
  const std::string flag = argument.substr(0, argument.find('='));
  for (const FlagLine& before : flags_before_verb()) {
    if (before.names.front() != flag || before.value.empty()) continue;
    return {fmt::format("{0} stands before the verb: sluice {0} {1} {2}", flag, before.value, verb),
            false};
  }
  const std::string meant = nearest(flag, flags_of(app));
  return {
      "unknown flag " + flag + (meant.empty() ? help_hint(verb) : "; did you mean " + meant + "?"),
      false};
}

// A flag takes the word after it, whatever that is: so one at the end, or before another flag, is
// found here. Empty: there is none.
std::string flag_without_value(const CLI::App& app, const std::vector<std::string>& args) {
  const auto flag_at = [&](std::size_t at) {
    return args[at].starts_with("-") ? app.get_option_no_throw(args[at]) : nullptr;
  };
  for (std::size_t at = 0; at < args.size(); ++at) {
    const CLI::Option* const option = flag_at(at);
    if (option == nullptr) continue;
    const std::string& name = args[at];
    for (const std::size_t end = at + static_cast<std::size_t>(option->get_items_expected_min());
         at < end; ++at) {
      if (at + 1 < args.size() && flag_at(at + 1) == nullptr) continue;
      const FlagLine line = flag_line(*option);
      return fmt::format(
          "{0}: the value is missing; give {0} {1}", name,
          line.words.empty() ? line.value : fmt::format("{}", fmt::join(line.words, "|")));
    }
  }
  return {};
}

// CLI11 names what it has read, and not what it wants instead.
std::string in_our_words(const CLI::App& app, const CLI::ParseError& wrong) {
  constexpr std::string_view kUnread = "Could not convert: ";
  constexpr std::string_view kBounds = "not in range ";
  std::string text = wrong.what();
  if (text.starts_with(kUnread)) text.erase(0, kUnread.size());
  const std::string name = text.substr(0, text.find_first_of(" :="));
  const CLI::Option* const option = app.get_option_no_throw(name);
  const auto code = static_cast<CLI::ExitCodes>(wrong.get_exit_code());
  if (option == nullptr) return text;
  if (code == CLI::ExitCodes::ArgumentMismatch) return name + " is given more than once";
  if (code != CLI::ExitCodes::ValidationError && code != CLI::ExitCodes::ConversionError)
    return text;
  const FlagLine line = flag_line(*option);
  if (line.value.empty()) return name + " takes no value";
  const std::string value = fmt::format("{}: {}", name, fmt::join(option->results(), ", "));
  if (!line.words.empty())
    return fmt::format("{} is none of {}", value, fmt::join(line.words, ", "));
  const std::size_t bounds = text.find(kBounds);
  // A check of ours says what it wants.
  if (code == CLI::ExitCodes::ValidationError && bounds == std::string::npos) return text;
  return value + " is not a number" +
         (bounds == std::string::npos ? "" : " from " + text.substr(bounds + kBounds.size()));
}

}  // namespace

const std::vector<VerbLine>& verb_lines() {
  static const std::vector<VerbLine> kVerbs = {
      {"up", "start an engine",
       "  sluice up -- python3 -m http.server '$PORT'\n  sluice up -f services/ -d\n"},
      {"down", "stop an engine", "  sluice down\n  sluice down shop\n"},
      {"apply", "add or change services",
       "  sluice apply -f app.yaml\n  sluice apply -f app.yaml --dry-run\n"},
      {"delete", "remove a service", "  sluice delete app\n  sluice delete shop/cart\n"},
      {"get", "list services, or one", "  sluice get\n  sluice get app -o yaml\n"},
      {"explain", "why a service has its replicas",
       "  sluice explain app\n  sluice explain app --last-cold-start\n"},
      {"history", "print decisions that changed something",
       "  sluice history app\n  sluice history app --since 1h\n"},
      {"record", "write what a service's autoscaler got and decided",
       "  sluice record app -o app.jsonl.gz\n  sluice record app --for 5m -o app.jsonl\n"},
      {"dashboard", "show the web page", "  sluice dashboard\n  sluice dashboard --context prod\n"},
      {"top", "show the live view", "  sluice top\n  sluice top shop\n"},
      {"logs", "print the output of replicas",
       "  sluice logs app -f\n  sluice logs app --previous --tail 20\n"},
      {"wake", "start at least one replica now",
       "  sluice wake app\n  sluice wake app --timeout 10s\n"},
      {"sleep", "drain to zero now", "  sluice sleep app\n  sluice sleep shop/cart\n"},
      {"scale", "set live bounds",
       "  sluice scale app --min 1\n  sluice scale app --min 0 --max 4\n"},
      {"revisions", "list the revisions of a service",
       "  sluice revisions app\n  sluice revisions app -o json\n"},
      {"traffic", "divide requests among revisions, or go back to an older one",
       "  sluice traffic app app-00001=90,@latest=10\n"
       "  sluice traffic app --tag app-00001=stable --untag old\n"},
      {"places", "list where replicas can run, and what is left there",
       "  sluice places\n  sluice places -o json\n"},
      {"move", "move a service to another place, behind its traffic",
       "  sluice move shop --to slow\n  sluice move shop --to slow --timeout 1m\n"},
      {"drain", "empty a place of its services", "  sluice drain fast\n"},
      {"undrain", "let replicas go to a place again", "  sluice undrain fast\n"},
      {"policy", "check policies, and what they would move now",
       "  sluice policy check config.yaml\n  sluice policy check config.yaml -o json\n"},
      {"load", "generate load",
       "  sluice load app.localhost:8080 --rate 200\n  sluice load --file step.yaml\n"
       "  sluice load app.localhost:8080 --replay a.csv\n  sluice load compare a.json b.json\n"},
      {"trace", "say what is understood of recorded traffic, or write it as csv",
       "  sluice trace info access.log.gz\n  sluice trace convert run.har -o run.csv\n"},
      {"simulate", "replay a recording, or simulate a service under a load",
       "  sluice simulate app.jsonl.gz\n"
       "  sluice simulate app.jsonl.gz --set target=50 --set window=30s\n"
       "  sluice simulate --shape 'step 20:1m, spike 200:2m' --start 2s --set window=30s\n"
       "  sluice simulate --traffic app.jsonl --sweep target=10,20,50 --goal 'wait.p99 < 200ms'\n"},
      {"doctor", "check this machine, or a cluster's Knative",
       "  sluice doctor\n  sluice doctor --name app\n  sluice doctor --knative\n"},
      {"install", "print the objects for a cluster, for kubectl apply",
       "  sluice install | kubectl apply --server-side -f -\n"
       "  sluice install --profile ha --namespace scaling\n"},
      {"uninstall", "print them for kubectl delete",
       "  sluice uninstall | kubectl delete -f -\n"
       "  sluice uninstall --crds | kubectl delete -f -\n"},
      {"inject", "add the sidecar to Kubernetes manifests",
       "  sluice inject -f app.yaml | kubectl apply -f -\n  sluice inject -f app.yaml --dry-run\n"},
      {"uninject", "remove the sidecar from them",
       "  sluice uninject -f app.yaml | kubectl apply -f -\n"
       "  kubectl get deploy app -o yaml | sluice uninject -f - --dry-run\n"},
      {"config", "print the engine's settings and where each comes from",
       "  sluice config\n  sluice config --check config.yaml\n"},
      {"completion", "print a script by which a shell completes",
       "  source <(sluice completion bash)\n"
       "  sluice completion fish > ~/.config/fish/completions/sluice.fish\n"},
      {"help", "print the help of a verb", "  sluice help up\n  sluice help -o json\n"},
      {"version", "print the version, and those of running engines", "  sluice version -o json\n"},
  };
  return kVerbs;
}

std::span<const OtherWord> other_words() {
  static constexpr std::array kWords{
      OtherWord{"ps", "sluice get lists services; sluice top shows them live"},
      OtherWord{"ls", "sluice get lists services"},
      OtherWord{"list", "sluice get lists services"},
      OtherWord{"status", "sluice get lists services; sluice explain SERVICE says why"},
      OtherWord{"show", "sluice get SERVICE; its spec: sluice get SERVICE -o yaml"},
      OtherWord{"describe", "sluice explain SERVICE; its spec: sluice get SERVICE -o yaml"},
      OtherWord{"inspect", "sluice explain SERVICE; its spec: sluice get SERVICE -o yaml"},
      OtherWord{"run", "sluice up -- COMMAND"},
      OtherWord{"start", "sluice up -- COMMAND starts an engine; sluice wake SERVICE a replica"},
      OtherWord{"serve", "sluice up -- COMMAND"},
      OtherWord{"exec", "sluice up -- COMMAND"},
      OtherWord{"stop", "sluice down stops an engine; sluice sleep SERVICE drains one service"},
      OtherWord{"kill", "sluice down stops an engine; sluice sleep SERVICE drains one service"},
      OtherWord{"quit", "sluice down"},
      OtherWord{"restart", "sluice down, then sluice up --name ENGINE"},
      OtherWord{"reload", "files given to sluice up -f are watched; others: sluice apply -f FILE"},
      OtherWord{"rm", "sluice delete SERVICE"},
      OtherWord{"remove", "sluice delete SERVICE"},
      OtherWord{"create", "sluice apply -f FILE, or sluice up -- COMMAND"},
      OtherWord{"add", "sluice apply -f FILE, or sluice up -- COMMAND"},
      OtherWord{"rollback",
                "sluice traffic SERVICE REVISION=100; sluice revisions SERVICE lists them"},
      OtherWord{"undo", "sluice traffic SERVICE REVISION=100; sluice revisions SERVICE lists them"},
      OtherWord{"rollout", "sluice revisions SERVICE, sluice traffic SERVICE REVISION=PERCENT,…"},
      OtherWord{"revision", "sluice revisions SERVICE"},
      OtherWord{"deploy", "sluice apply -f FILE"},
      OtherWord{"update", "sluice apply -f FILE"},
      OtherWord{"set", "sluice scale SERVICE --min N --max N, or sluice apply -f FILE"},
      OtherWord{"log", "sluice logs SERVICE"},
      OtherWord{"tail", "sluice logs SERVICE -f"},
      OtherWord{"events", "sluice history SERVICE"},
      OtherWord{"watch", "sluice top"},
      OtherWord{"monitor", "sluice top"},
      OtherWord{"bench", "sluice load URL"},
      OtherWord{"check", "sluice doctor; a settings file: sluice config --check FILE"},
      OtherWord{"settings", "sluice config"},
      OtherWord{"info", "sluice version, sluice get and sluice config"},
  };
  return kWords;
}

std::string use_instead(std::string_view typed) {
  for (const OtherWord& other : other_words()) {
    if (other.word == typed) {
      return "unknown verb " + std::string(typed) + "; use: " + std::string(other.use);
    }
  }
  return {};
}

std::span<const ExitLine> exit_lines() {
  static constexpr std::array kLines{
      ExitLine{0, "done"},
      ExitLine{1, "failed; a check of sluice doctor failed; a move was refused or given up"},
      ExitLine{
          2, "a wrong flag, or one that is unlike the running engine's; a name that fits several"},
      ExitLine{3,
               "not ready: sluice wake; up -d and apply --wait when one of the services that they "
               "start does not become ready; move and drain that last longer than --timeout; drain "
               "when a service stays in the place"},
      ExitLine{
          4,
          "an expression of sluice load --fail-if was true, or an assertion of its scenario was "
          "not; in sluice load compare a run is worse; in sluice simulate a decision differs or no "
          "run reaches the goal"},
      ExitLine{69,
               "no engine runs, one of that name runs already, or it does not start or end in "
               "time; sluice load got no answer of an application; no cluster answers "
               "sluice dashboard"},
      ExitLine{78, "a wrong file, setting or command"},
      ExitLine{128, "128 + n: ended by signal n"},
  };
  return kLines;
}

std::span<const FlagLine> flags_before_verb() {
  static const std::vector<FlagLine> kFlags = {
      {.names = {"--server"},
       .value = "URL",
       .kind = ValueKind::text,
       .about = "use an autoscaler's API in place of engines here"},
      {.names = {"--token-file"},
       .value = "FILE",
       .kind = ValueKind::file,
       .about = "the token that permits changes at the server"},
      {.names = {"-v", "--version"}, .about = "print the version"},
      {.names = {"-h", "--help"}, .about = "list the verbs"},
  };
  return kFlags;
}

std::string general_help() {
  std::string text =
      "Examples:\n  sluice up -- python3 -m http.server '$PORT'\n  sluice explain app\n\n"
      "Usage: sluice [--server URL [--token-file FILE]] VERB [FLAGS]\n\nVerbs:\n";
  for (const VerbLine& line : verb_lines()) {
    std::string name(line.name);
    name.resize(11, ' ');
    text += "  " + name + std::string(line.summary) + "\n";
  }
  return text +
         "\nEach verb has --help, like: sluice help VERB. With --server these verbs use the API of "
         "a cluster's autoscaler: explain, get, "
         "history,\nrecord, scale, sleep, top, wake; services are SERVICE or NAMESPACE/SERVICE.\n";
}

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  std::string best;
  // More than two slips is another word; so is more than one in a short word, or from its first
  // letter on.
  std::size_t least = typed.size() > kShortWord ? 3 : 2;
  for (const std::string& word : known) {
    if (typed.size() > kWordMax || word.size() > kWordMax) {
      continue;
    }
    const std::size_t steps = distance(typed, word);
    if (steps < least && (steps < 2 || typed.front() == word.front())) {
      least = steps;
      best = word;
    }
  }
  return best;
}

std::optional<UsageProblem> parse_flags(CLI::App& app, std::string_view verb,
                                        std::vector<std::string> args) {
  app.name("sluice " + std::string(verb));
  app.allow_extras();
  if (const std::string flag = flag_without_value(app, args); !flag.empty()) {
    return UsageProblem{flag, false};
  }
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back
  std::string problem;
  try {
    app.parse(args);
  } catch (const CLI::CallForHelp&) {
    return UsageProblem{help_of(app, verb), true};
  } catch (const CLI::ParseError& wrong) {
    problem = in_our_words(app, wrong) + help_hint(verb);
  }
  // What is not known at all goes before what is missing.
  if (const auto left = app.remaining(); !left.empty()) {
    return unknown_argument(app, verb, left.front());
  }
  if (!problem.empty()) return UsageProblem{problem, false};
  return std::nullopt;
}

}  // namespace sluice::commands
