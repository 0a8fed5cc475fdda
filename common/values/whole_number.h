#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice {

/// The whole number from `least` to `most` that `text` is: digits to its end, after a minus where
/// the type has a sign. Nothing for anything else, a plus or a blank included.
template <std::integral Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text,
                                                 Number least = std::numeric_limits<Number>::min(),
                                                 Number most = std::numeric_limits<Number>::max(),
                                                 int base = 10) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, wrong] = std::from_chars(text.data(), end, value, base);
  if (wrong != std::errc{} || stop != end || value < least || value > most) return std::nullopt;
  return value;
}

/// The same of hexadecimal digits without a prefix, as the kernel prints them.
template <std::integral Number>
[[nodiscard]] std::optional<Number> hex_number(std::string_view text) {
  using Limits = std::numeric_limits<Number>;
  return whole_number<Number>(text, Limits::min(), Limits::max(), 16);
}

}  // namespace sluice
