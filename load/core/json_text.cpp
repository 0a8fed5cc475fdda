#include "load/core/json_text.h"

#include "common/values/whole_number.h"

#include <cstdint>

namespace sluice::loadgen {

namespace {

void append_utf8(std::string& out, std::uint32_t rune) {
  const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (rune < 0x80) {
    add(rune);
    return;
  }
  if (rune < 0x800) {
    add(0xc0U | rune >> 6U);
  } else if (rune < 0x10000) {
    add(0xe0U | rune >> 12U);
    add(0x80U | (rune >> 6U & 0x3fU));
  } else {
    add(0xf0U | rune >> 18U);
    add(0x80U | (rune >> 12U & 0x3fU));
    add(0x80U | (rune >> 6U & 0x3fU));
  }
  add(0x80U | (rune & 0x3fU));
}

// The four digits behind `\u` at the front of `text`, which they leave.
std::optional<std::uint32_t> take_unit(std::string_view& text) {
  constexpr std::size_t kDigits = 4;
  if (text.size() < kDigits) return std::nullopt;
  const auto unit = hex_number<std::uint32_t>(text.substr(0, kDigits));
  if (unit) text.remove_prefix(kDigits);
  return unit;
}

// What is behind `\u`, with the other half of a pair.
std::optional<std::uint32_t> take_rune(std::string_view& text) {
  const auto first = take_unit(text);
  if (!first || *first < 0xd800 || *first > 0xdfff) return first;
  if (*first > 0xdbff || !text.starts_with("\\u")) return std::nullopt;
  text.remove_prefix(2);
  const auto second = take_unit(text);
  if (!second || *second < 0xdc00 || *second > 0xdfff) return std::nullopt;
  return 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00);
}

// The text between the quotes of a string.
std::optional<std::string> unescape(std::string_view text) {
  constexpr std::string_view kMarks = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  std::string out;
  while (true) {
    const std::size_t slash = text.find('\\');
    out += text.substr(0, slash);
    if (slash == std::string_view::npos) return out;
    if (slash + 1 == text.size()) return std::nullopt;
    const char mark = text[slash + 1];
    text.remove_prefix(slash + 2);
    if (mark == 'u') {
      const auto rune = take_rune(text);
      if (!rune) return std::nullopt;
      append_utf8(out, *rune);
      continue;
    }
    const std::size_t known = kMarks.find(mark);
    if (known == std::string_view::npos) return std::nullopt;
    out += kMeant[known];
  }
}

}  // namespace

std::optional<std::string> json_text(std::string_view value) {
  if (value.empty() || value == "null") return std::nullopt;
  if (value.front() == '{' || value.front() == '[') return std::nullopt;
  if (value.front() != '"') return std::string{value};
  if (value.size() < 2 || value.back() != '"') return std::nullopt;
  return unescape(value.substr(1, value.size() - 2));
}

}  // namespace sluice::loadgen
