#include "common/log/go_text.h"

#include "common/base/clean_text.h"
#include "common/base/utf8.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace sluice::log {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Characters beyond ASCII that Go's unicode.IsPrint refuses: controls, spaces, formats, private
// use. Code points that are not assigned yet count as printable here: a table of those would age.
constexpr std::array<Range, 28> kNotPrintable{{
    {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0x1fffe, 0x1ffff},
    {0xe0000, 0xe00ff}, {0xe01f0, 0xeffff}, {0xf0000, 0xfffff}, {0x100000, 0x10ffff},
}};

bool printable(std::uint32_t rune) {
  const auto after =
      std::upper_bound(kNotPrintable.begin(), kNotPrintable.end(), rune,
                       [](std::uint32_t value, const Range& range) { return value < range.first; });
  return after == kNotPrintable.begin() || rune > (after - 1)->last;
}

void append_escape(std::string& out, std::uint32_t value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  out += "\\u";
  for (int shift = value > 0xffff ? 20 : 12; shift >= 0; shift -= 4) {
    const std::uint32_t digit = value >> static_cast<unsigned>(shift);
    if (shift > 12 && digit == 0) continue;
    out += kDigits[digit & 0xfU];
  }
}

void append_beyond_ascii(std::string& out, std::string_view text, const Rune& rune, bool json) {
  const bool long_one = json && rune.value > 0xffff;  // has no single \u
  if (!rune.valid || (long_one && misleads(rune.value))) {
    append_escape(out, kReplacementRune);
  } else if (printable(rune.value) || long_one) {
    out.append(text.substr(0, rune.size));
  } else {
    append_escape(out, rune.value);
  }
}

void append_text(std::string& out, std::string_view text, bool json) {
  while (!text.empty()) {
    const Rune rune = first_rune(text);
    const char c = text.front();
    if (rune.value >= 0x80) {
      append_beyond_ascii(out, text, rune, json);
    } else if (c == '\\' || c == '"' || (c == '\'' && !json)) {
      out += '\\';
      out += c;
    } else if (rune.value < 0x20 || c == '<' || c == '>' || c == '&' || c == '=' || c == '\'') {
      append_escape(out, rune.value);
    } else {
      out += c;
    }
    text.remove_prefix(rune.size);
  }
}

std::optional<char> decoded(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto value = hex_number<std::uint8_t>(text.substr(1, 2));
  if (!value || *value < 0x20 || *value == 0x7f) return std::nullopt;
  return static_cast<char>(*value);
}

}  // namespace

void append_js(std::string& out, std::string_view text) {
  append_text(out, text, false);
}

void append_json(std::string& out, std::string_view text) {
  append_text(out, text, true);
}

void append_go_float(std::string& out, double number) {
  char digits[40];
  const double size = number < 0 ? -number : number;
  if (size == 0 || (size >= 1e-4 && size < 1e6)) {
    const auto end =
        std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr;
    out.append(digits, end);
  } else {
    const auto end =
        std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific).ptr;
    out.append(digits, end);
  }
}

void append_decoded_path(std::string& out, std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  while (!path.empty()) {
    const auto c = decoded(path);
    out += c.value_or(path.front());
    path.remove_prefix(c ? 3 : 1);
  }
}

}  // namespace sluice::log
