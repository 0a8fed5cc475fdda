#include "common/values/go_syntax.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace sluice {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string lowered(std::string_view text) {
  std::string result{text};
  for (char& c : result) c = lower(c);
  return result;
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  return text;
}

std::optional<double> read_special(std::string_view text) {
  const std::string word = lowered(text);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  const std::string_view name = without_sign(word);
  if (name != "inf" && name != "infinity") return std::nullopt;
  const double infinite = std::numeric_limits<double>::infinity();
  return word.front() == '-' ? -infinite : infinite;
}

// Underscores stand between two digits, or between the base prefix and a digit.
bool underscores_fit(std::string_view digits, bool hexadecimal) {
  char before = hexadecimal ? '0' : ' ';
  for (const char c : digits) {
    const bool digit = is_digit(c) || (hexadecimal && lower(c) >= 'a' && lower(c) <= 'f');
    if (c == '_' && before != '0') return false;
    if (!digit && c != '_' && before == '_') return false;
    before = digit ? '0' : (c == '_' ? '_' : ' ');
  }
  return before != '_';
}

// What Go takes for white space, in UTF-8: Unicode's property of that name.
constexpr std::array<std::string_view, 25> kSpaces{" ",
                                                   "\t",
                                                   "\n",
                                                   "\v",
                                                   "\f",
                                                   "\r",
                                                   "\xC2\x85",
                                                   "\xC2\xA0",
                                                   "\xE1\x9A\x80",
                                                   "\xE2\x80\x80",
                                                   "\xE2\x80\x81",
                                                   "\xE2\x80\x82",
                                                   "\xE2\x80\x83",
                                                   "\xE2\x80\x84",
                                                   "\xE2\x80\x85",
                                                   "\xE2\x80\x86",
                                                   "\xE2\x80\x87",
                                                   "\xE2\x80\x88",
                                                   "\xE2\x80\x89",
                                                   "\xE2\x80\x8A",
                                                   "\xE2\x80\xA8",
                                                   "\xE2\x80\xA9",
                                                   "\xE2\x80\xAF",
                                                   "\xE2\x81\x9F",
                                                   "\xE3\x80\x80"};

}  // namespace

std::string_view trim_go_space(std::string_view text) {
  const auto starts = [&text](std::string_view space) { return text.starts_with(space); };
  const auto ends = [&text](std::string_view space) { return text.ends_with(space); };
  for (auto at = kSpaces.begin(); at != kSpaces.end();) {
    at = std::find_if(kSpaces.begin(), kSpaces.end(), starts);
    if (at != kSpaces.end()) text.remove_prefix(at->size());
  }
  for (auto at = kSpaces.begin(); at != kSpaces.end();) {
    at = std::find_if(kSpaces.begin(), kSpaces.end(), ends);
    if (at != kSpaces.end()) text.remove_suffix(at->size());
  }
  return text;
}

std::optional<double> read_go_float(std::string_view text) {
  if (const auto special = read_special(text)) return special;

  std::string_view digits = without_sign(text);
  const bool hexadecimal = digits.size() > 2 && digits[0] == '0' && lower(digits[1]) == 'x';
  if (hexadecimal) digits.remove_prefix(2);
  if (!underscores_fit(digits, hexadecimal)) return std::nullopt;

  std::string plain;
  for (const char c : digits) {
    // from_chars would take "inf" and "nan(...)" and a sign of its own.
    const bool known = is_digit(c) || c == '.' || c == '+' || c == '-' || lower(c) == 'e' ||
                       (hexadecimal && (lower(c) == 'p' || (lower(c) >= 'a' && lower(c) <= 'f')));
    if (c == '_') continue;
    if (!known) return std::nullopt;
    plain += lower(c);
  }
  if (plain.empty() || plain.front() == '+' || plain.front() == '-') return std::nullopt;
  if (hexadecimal && plain.find('p') == std::string::npos) return std::nullopt;

  double value = 0;
  const auto form = hexadecimal ? std::chars_format::hex : std::chars_format::general;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value, form);
  if (end != plain.data() + plain.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too large is an error, too small is the nearest tiny number; only strtod tells them apart.
    value = std::strtod((hexadecimal ? "0x" + plain : plain).c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
  } else if (error != std::errc{}) {
    return std::nullopt;
  }
  return text.front() == '-' ? -value : value;
}

std::optional<std::int64_t> read_go_int(std::string_view text, int bits) {
  const std::string_view digits = without_sign(text);
  if (digits.empty() || !is_digit(digits.front())) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  if (bits == 32) return whole_number<std::int32_t>(text);
  return whole_number<std::int64_t>(text);
}

std::optional<bool> read_go_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

}  // namespace sluice
