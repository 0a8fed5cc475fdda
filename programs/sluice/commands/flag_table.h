#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sluice::commands {

/// What the value of a flag or an argument is, for completion.
enum class ValueKind { none, text, words, file, service, engine, verb };

struct ArgumentLine {
  std::string name = {};  ///< SERVICE
  ValueKind kind = ValueKind::text;
  std::vector<std::string> words = {};  ///< the only ones accepted, if there are any
  bool required = false;
  std::string about = {};
};

struct FlagLine {
  std::vector<std::string> names = {};  ///< `-f`, `--file`
  std::string value = {};               ///< FILE; empty: a switch
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words = {};
  bool required = false;
  bool repeated = false;
  std::string about = {};
};

/// The command line of one verb, as CLI11 has it.
struct VerbTable {
  std::string name = {};
  std::string summary = {};   ///< of the list of verbs
  std::string about = {};     ///< first line of the verb's help
  std::string examples = {};  ///< lines
  std::vector<ArgumentLine> arguments = {};
  std::vector<FlagLine> flags = {};
};

[[nodiscard]] FlagLine flag_line(const CLI::Option& option);

/// Arguments and flags of `app`; name, summary and examples are the caller's.
[[nodiscard]] VerbTable table_of(const CLI::App& app);

}  // namespace sluice::commands
