#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// Walks over the members of a JSON object, or the items of an array, without building anything: a
/// list of five hundred pods is cut into pods, and only one of them is ever parsed. Finds only
/// where values end; whether they are JSON inside is left to the reader.
class JsonWalk {
 public:
  struct Step {
    std::string_view key;    ///< as written between its quotes; empty in an array
    std::string_view value;  ///< without blanks around it
  };

  /// `text`: one object or array, blanks around it allowed. Outlives the walk.
  explicit JsonWalk(std::string_view text);

  /// The next member or item; absent at the end, or where the text is broken.
  [[nodiscard]] std::optional<Step> next();

  /// After the end: whether it was a proper one.
  [[nodiscard]] bool whole() const { return state_ == State::ended; }

 private:
  enum class State : unsigned char { first, further, ended, broken };

  std::optional<Step> fail();
  void skip_blanks();
  bool take(char wanted);
  std::optional<std::string_view> take_string();
  std::optional<std::string_view> take_value();

  std::string_view text_;
  std::size_t at_ = 0;
  char close_ = 0;
  State state_ = State::first;
};

/// The value of one member of an object; absent when there is none.
[[nodiscard]] std::optional<std::string_view> json_member(std::string_view object,
                                                          std::string_view key);

/// The text between the quotes of a JSON string; empty unless it is one without escapes, as the
/// names, versions and tokens of machines are.
[[nodiscard]] std::string_view plain_string(std::string_view value);

}  // namespace sluice
