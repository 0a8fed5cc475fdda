#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// Reads one JSON document of any length in pieces. Of it are kept where it stands and the value
/// being read, at most kValueMax of it. Text within strings is not looked at, so that it may be any
/// bytes.
class JsonStream {
 public:
  static constexpr std::size_t kDepthMax = 64;
  static constexpr std::size_t kKeyMax = 256;
  static constexpr std::size_t kValueMax = 64U << 10U;

  /// Takes a string, number or truth value as written, at a place like `log.entries[].time`; and
  /// the end of an object or array, with an empty value. Of a value that is longer than kValueMax
  /// the beginning. Both are valid during the call.
  using Sink = std::function<void(std::string_view place, std::string_view value)>;

  /// The problem names the byte; after one nothing more may be fed.
  [[nodiscard]] std::optional<Problem> feed(std::string_view piece, const Sink& sink);

  /// The document has ended; the problem is that it has not.
  [[nodiscard]] std::optional<Problem> finish() const;

 private:
  enum class State : std::uint8_t {
    value,  // or, at the beginning of an array, its end
    key,    // or, at the beginning of an object, its end
    colon,
    behind,  // a comma or an end
    string,
    key_string,
    plain,  // a number or truth value
    ended,
  };

  struct Level {
    bool object;
    std::size_t place;  // bytes of place_ that are those of the level
  };

  std::size_t take_string(std::string_view piece, const Sink& sink);
  std::size_t take_plain(std::string_view piece, const Sink& sink);
  [[nodiscard]] bool take_mark(char mark, const Sink& sink);
  [[nodiscard]] bool open(bool object);
  [[nodiscard]] bool close(bool object, const Sink& sink);
  void pass(const Sink& sink);
  void keep(std::string_view text);

  State state_ = State::value;
  bool fresh_ = false;    // nothing was read of the level yet
  bool escaped_ = false;  // the last byte of the string was a backslash
  std::vector<Level> levels_;
  std::string place_;
  std::string kept_;  // of a value or key
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice::loadgen
