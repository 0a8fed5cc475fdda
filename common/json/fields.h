#pragma once

#include "common/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::reading {

/// The first complaint about a document, and the unknown keys.
struct Findings {
  std::optional<Problem> problem;
  std::vector<std::string> unknown_keys;

  void complain(Problem found) {
    if (!problem) problem = std::move(found);
  }
};

/// Reads the keys of one JSON object one by one, so that code which reads many of them reads as a
/// table. After a complaint every method still returns something harmless.
class Fields {
 public:
  enum class Need : bool { optional, required };

  /// Whether a null is a wrong value, or as good as no value.
  enum class Null : bool { wrong, absent };

  /// `place` names the object within its document, such as "pods[2]"; empty for the whole.
  /// `object` and `findings` outlive this. Whatever is no object is complained about.
  Fields(const nlohmann::json& object, std::string place, Findings& findings,
         Null null = Null::wrong);

  /// The value as it is; null when absent.
  const nlohmann::json* find(const char* key);

  /// The name of `key` within the document.
  [[nodiscard]] std::string name_of(std::string_view key) const;

  /// A string of whatever bytes; empty when absent.
  std::string any_text(const char* key);

  /// A text of at most `bytes_max` printable bytes; empty when absent.
  std::string text(const char* key, Need need, std::size_t bytes_max);

  /// A whole number; `fallback` when absent.
  std::int64_t integer(const char* key, std::int64_t fallback, std::int64_t least,
                       std::int64_t most);

  /// A number; `fallback` when absent.
  double number(const char* key, double fallback, double least, double most);

  /// `fallback` when absent.
  bool boolean(const char* key, bool fallback);

  /// An array of at most `items_max`; null when absent.
  const nlohmann::json* array(const char* key, std::size_t items_max);

  /// An object of at most `items_max` keys; null when absent.
  const nlohmann::json* object(const char* key, std::size_t items_max);

  /// Says that the value of `key` is wrong and what would be right.
  void refuse(std::string_view key, std::string_view wrong, std::string_view expected);

  /// Notes every key that was not read. Called last.
  void close();

 private:
  const nlohmann::json& object_;  // the caller's, for as long as it reads
  std::string place_;
  Findings& findings_;  // likewise
  Null null_;
  std::vector<std::string_view> asked_;
};

/// `text` without control characters and cut to `bytes_max`, for messages.
[[nodiscard]] std::string shown(std::string_view text, std::size_t bytes_max = 80);

/// A value as it is shown in a message.
[[nodiscard]] std::string shown_value(const nlohmann::json& value);

/// Whether `text` has neither control characters nor more than `bytes_max` bytes.
[[nodiscard]] bool is_printable(std::string_view text, std::size_t bytes_max);

}  // namespace sluice::reading
