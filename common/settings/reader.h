#pragma once

#include "common/base/result.h"
#include "common/net/address.h"
#include "common/values/duration.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::settings {

/// The value of a setting, a variable or a flag, or nothing when it is not set.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// The variables of this process.
[[nodiscard]] Environment process_environment();

/// `problem`, said of the setting that would change it.
[[nodiscard]] Problem named(const char* setting, const Problem& problem);

/// Reads settings, variables of the environment or flags, one by one and keeps the first complaint,
/// so that code which reads many of them reads as a table. After a complaint every method still
/// returns something harmless.
class Reader {
 public:
  enum class Need : bool { optional, required };

  /// What a number may be.
  struct Range {
    long least;
    long most;
  };

  /// `environment` outlives the reader.
  explicit Reader(const Environment& environment) : environment_{environment} {}

  /// The value as it is; nothing when not set.
  [[nodiscard]] std::optional<std::string> find(const char* name) const {
    return environment_(name);
  }

  /// A text, empty when not set; a required one may be empty too, but must exist.
  std::string text(const char* name, Need need);

  /// A required text that is not empty: `expected` describes it.
  std::string needed(const char* name, const std::string& expected);

  /// The parts of a list with commas; none when not set or empty.
  std::vector<std::string> list(const char* name);

  /// What `named` makes of a word, `fallback` when not set.
  template <class T>
  T word_or(const char* name, T fallback, std::optional<T> (*named)(std::string_view),
            const std::string& expected) {
    const auto value = find(name);
    if (!value) return fallback;
    const auto known = named(*value);
    if (!known) refuse(name, *value, expected);
    return known.value_or(fallback);
  }

  /// A required integer: must exist and lie in `range`; an empty text is not a number.
  long integer(const char* name, Range range);

  /// An integer in `range`, `fallback` when not set.
  long integer_or(const char* name, long fallback, Range range);

  /// As `integer_or`, for counts and sizes.
  std::size_t size_or(const char* name, std::size_t fallback, Range range);

  /// A duration in `range` such as 10s, 1m30s or a bare 0; `fallback` when not set.
  Duration wait_or(const char* name, Duration fallback, DurationRange range);

  /// The spellings of Go's strconv.ParseBool; `fallback` when not set.
  bool boolean_or(const char* name, bool fallback);

  /// A required port or address in one of the forms of protocols.md 1; a bare port gets `host`.
  net::Address address(const char* name, const char* host);

  /// As `address`, `fallback` when not set.
  net::Address address_or(const char* name, const char* fallback);

  /// The same; nothing when set to an empty text.
  std::optional<net::Address> address_unless_empty(const char* name, const char* fallback);

  /// Says that variable `name` is wrong and what would be right.
  void refuse(const char* name, const std::string& value, const std::string& expected);

  /// Keeps `problem` if it is the first, made printable and cut to a line.
  void complain(const Problem& problem);

  /// The first complaint.
  [[nodiscard]] const std::optional<Problem>& problem() const { return problem_; }

 private:
  std::optional<std::string> required(const char* name);
  net::Address parse_address(const char* name, const std::string& value, const char* host);

  const Environment& environment_;  // outlives the reader: an argument of read_config
  std::optional<Problem> problem_;
};

}  // namespace sluice::settings
