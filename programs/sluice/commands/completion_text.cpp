#include "programs/sluice/commands/completion_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice::commands {
namespace {

// Descriptions are one line in a menu.
constexpr std::size_t kAboutMax = 100;

std::string replaced(std::string_view text, std::string_view marks,
                     std::string_view (*with)(char)) {
  std::string out;
  for (const char c : text) {
    if (marks.find(c) == std::string_view::npos) {
      out += c;
    } else {
      out += with(c);
    }
  }
  return out;
}

// Text between single quotes of a POSIX shell.
std::string in_quotes(std::string_view text) {
  return "'" + replaced(text, "'", [](char) { return std::string_view{"'\\''"}; }) + "'";
}

std::string short_about(const std::string& about) {
  std::string line = about.substr(0, about.find('\n'));
  if (line.size() > kAboutMax) line = line.substr(0, line.rfind(' ', kAboutMax)) + " ...";
  return line;
}

std::string_view word_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::service:
      return "services";
    case ValueKind::engine:
      return "engines";
    case ValueKind::file:
      return "files";
    case ValueKind::verb:
      return "verbs";
    case ValueKind::none:
    case ValueKind::text:
    case ValueKind::words:
      break;
  }
  return "nothing";
}

std::string verb_names(const CompletionTables& tables) {
  std::vector<std::string> names;
  for (const VerbTable& verb : tables.verbs) names.push_back(verb.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string flag_names(std::span<const FlagLine> flags) {
  std::vector<std::string> names;
  for (const FlagLine& flag : flags) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return fmt::format("{}", fmt::join(names, " "));
}

// ---- bash ----

std::string bash_kind(ValueKind kind, const std::vector<std::string>& words) {
  return words.empty() ? "kind=" + std::string(word_of(kind))
                       : "kind=words words=" + in_quotes(fmt::format("{}", fmt::join(words, " ")));
}

std::string bash_values(std::span<const FlagLine> flags) {
  std::string text;
  std::string second;  // of two values
  for (const FlagLine& flag : flags) {
    if (flag.value.empty()) continue;
    const std::string line = fmt::format("        {}) value=1 {} ;;\n", fmt::join(flag.names, "|"),
                                         bash_kind(flag.kind, flag.words));
    text += line;
    if (flag.value.find(' ') != std::string::npos) second += line;
  }
  if (!second.empty())
    second = "      case ${COMP_WORDS[COMP_CWORD-2]} in\n" + second + "      esac\n";
  return text.empty() ? text : second + "      case $prev in\n" + text + "      esac\n";
}

std::string bash_verb(const VerbTable& verb) {
  std::string text = "    " + verb.name + ")\n      flags=" + in_quotes(flag_names(verb.flags));
  if (!verb.arguments.empty()) {
    const ArgumentLine& first = verb.arguments.front();
    text += " " + bash_kind(first.kind, first.words);
  }
  return text + "\n" + bash_values(verb.flags) + "      ;;\n";
}

constexpr const char* kBashHead =
    R"(# Completion of sluice for bash. Printed by: sluice completion bash
_sluice() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local verb='' flags='' words='' kind=nothing value='' at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case ${COMP_WORDS[at]} in
)";

constexpr const char* kBashVerb = R"(      -*) ;;
      *) verb=${COMP_WORDS[at]}; break ;;
    esac
  done
  for ((at++; at < COMP_CWORD; at++)); do
    # What follows is a command with arguments of its own.
    if [[ ${COMP_WORDS[at]} == -- ]]; then
      if ((at + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      else
        compopt -o default
      fi
      return
    fi
  done
  case $verb in
)";

constexpr const char* kBashTail = R"(  esac
  if [[ -z $value && $cur == -* ]]; then
    kind=words words=$flags
  fi
  case $kind in
    services | engines)
      # In one command the first assignment would be in force when the second is made.
      words=$(command sluice complete-names "$kind" 2>/dev/null)
      kind=words
      ;;
    verbs) kind=words words=$verbs ;;
    files) compopt -o default ;;
  esac
  [[ $kind != words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F _sluice sluice
)";

// ---- zsh ----

// A description between brackets or behind a colon, in single quotes.
std::string in_zsh(std::string_view text) {
  return replaced(text, "[]:'\\", [](char c) -> std::string_view {
    switch (c) {
      case '[':
        return "\\[";
      case ']':
        return "\\]";
      case ':':
        return "\\:";
      case '\'':
        return "'\\''";
      default:
        return "\\\\";
    }
  });
}

std::string zsh_action(ValueKind kind, const std::vector<std::string>& words) {
  if (!words.empty()) return fmt::format("({})", fmt::join(words, " "));
  if (kind == ValueKind::file) return "_files";
  if (kind == ValueKind::verb) return "_sluice_verbs";
  if (kind == ValueKind::service || kind == ValueKind::engine) {
    return "{_sluice_names " + std::string(word_of(kind)) + "}";
  }
  return " ";
}

std::string zsh_flag(const FlagLine& flag) {
  std::string tail = "[" + in_zsh(short_about(flag.about)) + "]";
  for (std::string_view left = flag.value; !left.empty();) {
    const std::string_view value = left.substr(0, left.find(' '));
    tail += ":" + in_zsh(value) + ":" + zsh_action(flag.kind, flag.words);
    left.remove_prefix(std::min(value.size() + 1, left.size()));
  }
  std::string text;
  for (const std::string& name : flag.names) {
    const std::string others =
        flag.repeated ? "*" : fmt::format("({})", fmt::join(flag.names, " "));
    text += fmt::format(" \\\n        '{}{}{}'", others, name, tail);
  }
  return text;
}

// Only `up` takes a command.
constexpr const char* kZshCommand = R"(        local dashes=${words[(i)--]}
        if (( CURRENT > dashes )); then
          shift $dashes words
          (( CURRENT -= dashes ))
          _normal
          return
        fi
)";

std::string zsh_verb(const VerbTable& verb) {
  std::string text = "      " + verb.name + ")\n";
  if (verb.name == "up") text += kZshCommand;
  text += "        _arguments -s -S";
  for (const FlagLine& flag : verb.flags) text += zsh_flag(flag);
  std::size_t place = 0;
  for (const ArgumentLine& argument : verb.arguments) {
    text += " \\\n        '" + std::to_string(++place) + ":" + in_zsh(argument.name) + ":" +
            zsh_action(argument.kind, argument.words) + "'";
  }
  return text + "\n        ;;\n";
}

// ---- fish ----

std::string in_fish(std::string_view text) {
  return "'" +
         replaced(text, "'\\",
                  [](char c) -> std::string_view { return c == '\'' ? "\\'" : "\\\\"; }) +
         "'";
}

std::string fish_action(ValueKind kind, const std::vector<std::string>& words) {
  if (!words.empty()) return " -a " + in_fish(fmt::format("{}", fmt::join(words, " ")));
  if (kind == ValueKind::service || kind == ValueKind::engine) {
    return " -a " + in_fish("(command sluice " + std::string(kNamesVerb) + " " +
                            std::string(word_of(kind)) + " 2>/dev/null)");
  }
  return "";
}

constexpr const char* kFishCommand = R"(function __sluice_command
  set -l words (commandline -opc)
  set -l at (contains -i -- -- $words)
  complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) (commandline -ct))
end
complete -c sluice -n '__fish_seen_subcommand_from up; and contains -- -- (commandline -opc)' -a '(__sluice_command)'
)";

std::string fish_flag(const FlagLine& flag, const std::string& when) {
  std::string text = "complete -c sluice -n " + in_fish(when);
  for (const std::string& name : flag.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.value.empty()) {
    text += flag.kind == ValueKind::file ? " -r -F" : " -x" + fish_action(flag.kind, flag.words);
  }
  return text + " -d " + in_fish(short_about(flag.about)) + "\n";
}

}  // namespace

std::string bash_completion(const CompletionTables& tables) {
  std::string text = kBashHead;
  for (const FlagLine& flag : tables.before_verb) {
    if (!flag.value.empty())
      text += fmt::format("      {}) ((at++)) ;;\n", fmt::join(flag.names, "|"));
  }
  text += kBashVerb;
  text += "    '')\n      flags=" + in_quotes(flag_names(tables.before_verb)) + " kind=verbs\n" +
          bash_values(tables.before_verb) + "      ;;\n";
  for (const VerbTable& verb : tables.verbs) text += bash_verb(verb);
  std::string tail = kBashTail;
  const std::string place = "words=$verbs";
  tail.replace(tail.find(place), place.size(), "words=" + in_quotes(verb_names(tables)));
  return text + tail;
}

std::string zsh_completion(const CompletionTables& tables) {
  std::string text =
      "#compdef sluice\n# Completion of sluice for zsh. Printed by: sluice completion zsh\n"
      "_sluice_names() {\n  local -a names\n"
      "  names=(${(f)\"$(command sluice " +
      std::string(kNamesVerb) +
      " $1 2>/dev/null)\"})\n  compadd -a names\n}\n"
      "_sluice_verbs() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbTable& verb : tables.verbs) {
    text += "    '" + verb.name + ":" + in_zsh(verb.summary) + "'\n";
  }
  text +=
      "  )\n  _describe verb verbs\n}\n"
      "_sluice() {\n  local context state line\n  typeset -A opt_args\n  _arguments -C";
  for (const FlagLine& flag : tables.before_verb) text += zsh_flag(flag);
  text +=
      " \\\n        '1:verb:_sluice_verbs' \\\n        '*::argument:->rest'\n"
      "  [[ $state == rest ]] || return\n    case $words[1] in\n";
  for (const VerbTable& verb : tables.verbs) text += zsh_verb(verb);
  return text +
         "    esac\n}\n"
         "if [[ ${funcstack[1]} == _sluice ]]; then\n  _sluice \"$@\"\nelse\n"
         "  compdef _sluice sluice\nfi\n";
}

std::string fish_completion(const CompletionTables& tables) {
  std::string text =
      "# Completion of sluice for fish. Printed by: sluice completion fish\n"
      "complete -c sluice -f\n";
  for (const FlagLine& flag : tables.before_verb) text += fish_flag(flag, "__fish_use_subcommand");
  for (const VerbTable& verb : tables.verbs) {
    text += "complete -c sluice -n __fish_use_subcommand -a " + verb.name + " -d " +
            in_fish(verb.summary) + "\n";
    const std::string when = "__fish_seen_subcommand_from " + verb.name;
    for (const FlagLine& flag : verb.flags) text += fish_flag(flag, when);
    for (const ArgumentLine& argument : verb.arguments) {
      std::string action = fish_action(argument.kind, argument.words);
      if (argument.kind == ValueKind::file) action = " -F";
      if (argument.kind == ValueKind::verb) action = " -a " + in_fish(verb_names(tables));
      if (!action.empty()) text += "complete -c sluice -n " + in_fish(when) + action + "\n";
    }
  }
  return text + kFishCommand;
}

}  // namespace sluice::commands
