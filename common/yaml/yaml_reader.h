#pragma once

#include "common/base/result.h"

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Where `text` stops being UTF-8; its size when it never does. Overlong forms pass: nothing here
/// decides by them.
[[nodiscard]] std::size_t end_of_utf8(std::string_view text);

/// The items of a `List` of `v1`, as `kubectl get` prints several objects; of any other document
/// itself.
[[nodiscard]] std::vector<YAML::Node> items_of(const YAML::Node& document);

/// One key of a mapping with its value.
struct YamlEntry {
  std::string key;
  int line = 0;  ///< of the key, from 1
  YAML::Node value;
};

/// Which keys a mapping may have.
struct YamlKeys {
  std::initializer_list<const char*> known;
  std::initializer_list<const char*> without_effect = {};  ///< accepted with a warning
  std::initializer_list<const char*> silent = {};          ///< accepted: written by others
};

/// Reads values out of YAML nodes and collects what is wrong with them, at most 20 problems, each
/// naming file and line. Included by the .cpp files that parse YAML and by nothing else.
class YamlReader {
 public:
  explicit YamlReader(std::string file) : file_(std::move(file)) {}

  /// All documents of `text`. Refuses NUL bytes, more than `bytes_max` bytes, and documents deeper
  /// than 64 levels or with more than 200 000 nodes, before any of them is built.
  [[nodiscard]] std::vector<YAML::Node> documents(std::string_view text, std::size_t bytes_max);

  void fail(int line, std::string what, std::string fix);
  /// The same of a key that is not there. A misspelt one has its own problem, and no second.
  void fail_missing(int line, const std::string& key, std::string what, std::string fix);
  /// One that needs no place in its text.
  void fail(int line, Problem problem);
  /// Warns once per distinct text.
  void warn(int line, const std::string& what);

  /// The entries of a mapping; unknown and double keys are problems. `where` names it: `spec`.
  [[nodiscard]] std::vector<YamlEntry> entries(const YAML::Node& node, int line,
                                               const std::string& where, const YamlKeys& keys);
  /// The same where the keys come from a table; all have effect.
  [[nodiscard]] std::vector<YamlEntry> known_entries(const YAML::Node& node, int line,
                                                     const std::string& where,
                                                     const std::vector<std::string>& known);
  /// The entries of a mapping with free keys.
  [[nodiscard]] std::vector<YamlEntry> any_entries(const YAML::Node& node, int line,
                                                   const std::string& where);

  [[nodiscard]] std::optional<std::string> text(const YamlEntry& entry);
  [[nodiscard]] std::optional<std::int64_t> integer(const YamlEntry& entry, std::int64_t min,
                                                    std::int64_t max);
  [[nodiscard]] std::optional<bool> boolean(const YamlEntry& entry);
  /// The items of a sequence as entries that carry the sequence's key.
  [[nodiscard]] std::vector<YamlEntry> items(const YamlEntry& entry, std::size_t max);

  /// Turns the problem of a quantity parser into one with a place; passes values through.
  template <class T>
  [[nodiscard]] std::optional<T> checked(const YamlEntry& entry, const Result<T, Problem>& parsed) {
    if (parsed) return *parsed;
    fail(entry.line, "`" + entry.key + "`: " + parsed.error().what, parsed.error().fix);
    return std::nullopt;
  }

  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] std::string place(int line) const;

  [[nodiscard]] bool failed() const { return !problems_.empty(); }

  /// In the order of their lines.
  [[nodiscard]] std::vector<Problem> take_problems();

  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  void fail_unknown(const YamlEntry& entry, const std::string& where,
                    const std::vector<std::string>& known,
                    const std::vector<std::string>& accepted);

  std::string file_;
  std::multimap<int, Problem> problems_;  // by line
  std::set<std::string> misspelt_;        // what unknown keys seem to be; as many as the known ones
  std::vector<std::string> warnings_;
  std::set<std::string> warned_;  // bounded by the file's own size
};

}  // namespace sluice
