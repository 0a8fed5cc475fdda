#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {

/// One character of a text in UTF-8.
struct Rune {
  std::uint32_t value;
  std::size_t size;  ///< in bytes
  bool valid;        ///< false: a byte that begins no character; `value` is U+FFFD
};

inline constexpr std::uint32_t kReplacementRune = 0xfffd;

/// The character at the front of a text that is not empty; a byte that begins none counts as one.
[[nodiscard]] Rune first_rune(std::string_view text);

}  // namespace sluice
