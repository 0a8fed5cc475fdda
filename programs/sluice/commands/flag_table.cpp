#include "programs/sluice/commands/flag_table.h"

#include <CLI/CLI.hpp>

#include <string_view>

namespace sluice::commands {
namespace {

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(mark);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// CLI11 has `TEXT:{table,json}` for a set of words; a type of ours may be written `text|json`.
std::vector<std::string> words_of(const std::string& type) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open != std::string::npos && close != std::string::npos && open < close) {
    return split(std::string_view{type}.substr(open + 1, close - open - 1), ',');
  }
  if (type.find('|') != std::string::npos) return split(type, '|');
  return {};
}

ValueKind kind_of(const std::string& value, const std::vector<std::string>& words) {
  if (!words.empty()) return ValueKind::words;
  if (value == "FILE" || value == "PATH" || value == "RECORDING" || value == "CERT KEY")
    return ValueKind::file;
  if (value == "SERVICE") return ValueKind::service;
  if (value == "ENGINE") return ValueKind::engine;
  if (value == "VERB") return ValueKind::verb;
  return ValueKind::text;
}

// The description, with the bounds and the default that only CLI11's own help has.
std::string about_of(const CLI::Option& option) {
  constexpr std::string_view kBounds = "INT in [";
  std::string about = option.get_description();
  const std::string type = option.get_type_name();
  if (const std::size_t at = type.find(kBounds); at != std::string::npos) {
    const std::size_t first = at + kBounds.size();
    std::string bounds = type.substr(first, type.find(']', first) - first);
    if (const std::size_t dash = bounds.find(" - "); dash != std::string::npos)
      bounds.replace(dash, 3, " to ");
    about += "; " + bounds;
  }
  const std::string fallback = option.get_default_str();
  return fallback.empty() ? about : about + " (" + fallback + ")";
}

}  // namespace

FlagLine flag_line(const CLI::Option& option) {
  FlagLine line;
  for (const std::string& name : option.get_snames()) line.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) line.names.push_back("--" + name);
  line.required = option.get_required();
  line.about = about_of(option);
  if (option.get_type_size_max() == 0) return line;
  const std::string type = option.get_type_name();
  line.value = type.substr(0, type.find(':'));
  // An address has the colon in its own name.
  if (type == "HOST:PORT") line.value = type;
  line.words = words_of(type);
  line.kind = kind_of(line.value, line.words);
  if (option.check_lname("engine")) line.kind = ValueKind::engine;
  line.repeated = option.get_expected_max() > 1;
  return line;
}

VerbTable table_of(const CLI::App& app) {
  VerbTable table;
  table.about = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->nonpositional()) {
      table.flags.push_back(flag_line(*option));
      continue;
    }
    ArgumentLine line;
    line.name = option->get_name(true);
    line.words = words_of(option->get_type_name());
    line.kind = kind_of(line.name, line.words);
    line.required = option->get_required();
    line.about = option->get_description();
    table.arguments.push_back(std::move(line));
  }
  return table;
}

}  // namespace sluice::commands
