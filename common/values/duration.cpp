#include "common/values/duration.h"

#include <array>
#include <cstdint>
#include <limits>

namespace sluice {
namespace {

// Magnitudes in nanoseconds reach to here, below zero only.
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

constexpr std::array<Unit, 9> kUnits{{{"ns", 1},
                                      {"us", 1'000},
                                      {"\xC2\xB5s", 1'000},
                                      {"\xCE\xBCs", 1'000},
                                      {"ms", 1'000'000},
                                      {"s", 1'000'000'000},
                                      {"m", 60'000'000'000},
                                      {"h", 3'600'000'000'000},
                                      {"d", 86'400'000'000'000}}};

std::optional<std::int64_t> unit_of(std::string_view name, Days days) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name && (name != "d" || days == Days::accepted)) return unit.nanoseconds;
  }
  return std::nullopt;
}

// Digits after a decimal point: value / scale. As in Go, digits that no longer fit are dropped.
struct Fraction {
  std::uint64_t value = 0;
  double scale = 1;
};

void take_digit(Fraction& fraction, char digit, bool& full) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (full) return;
  const std::uint64_t next = fraction.value * 10 + static_cast<std::uint64_t>(digit - '0');
  full = fraction.value > kMost / 10 || next > kMost + 1;
  if (full) return;
  fraction.value = next;
  fraction.scale *= 10;
}

// Takes "1.5h" off the front of `text`, in nanoseconds.
Result<std::uint64_t, Misread> take_term(std::string_view& text, Days days) {
  std::uint64_t integer = 0;
  Fraction fraction;
  std::size_t at = 0;
  std::size_t digits = 0;
  for (; at < text.size() && is_digit(text[at]); ++at, ++digits) {
    if (integer > kLimit / 10) return Misread::too_large;
    integer = integer * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (integer > kLimit) return Misread::too_large;
  }
  if (at < text.size() && text[at] == '.') {
    bool full = false;
    for (++at; at < text.size() && is_digit(text[at]); ++at, ++digits) {
      take_digit(fraction, text[at], full);
    }
  }
  if (digits == 0) return Misread::malformed;
  const std::size_t unit_begin = at;
  while (at < text.size() && text[at] != '.' && !is_digit(text[at])) ++at;
  const auto unit = unit_of(text.substr(unit_begin, at - unit_begin), days);
  if (!unit) return Misread::malformed;
  const auto size = static_cast<std::uint64_t>(*unit);
  if (integer > kLimit / size) return Misread::too_large;
  text.remove_prefix(at);
  const double per_digit = static_cast<double>(*unit) / fraction.scale;
  return integer * size +
         static_cast<std::uint64_t>(static_cast<double>(fraction.value) * per_digit);
}

Result<Duration, Misread> parse(std::string_view text, Days days) {
  const bool negative = text.starts_with('-');
  const Misread beyond = negative ? Misread::too_small : Misread::too_large;
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{0};
  if (text.empty()) return Misread::malformed;

  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto term = take_term(text, days);
    if (!term) return term.error() == Misread::malformed ? Misread::malformed : beyond;
    if (*term > kLimit || total > kLimit - *term) return beyond;
    total += *term;
  }
  if (negative && total == kLimit) return Duration::min();
  if (total == kLimit) return beyond;
  const auto count = static_cast<std::int64_t>(total);
  return Duration{negative ? -count : count};
}

}  // namespace

std::optional<Duration> read_go_duration(std::string_view text) {
  const auto duration = parse(text, Days::refused);
  return duration ? std::optional{*duration} : std::nullopt;
}

Result<Duration, Misread> read_duration(std::string_view text, DurationRange range, Days days) {
  const auto duration = parse(text, days);
  if (!duration) return duration.error();
  if (*duration < range.least) return Misread::too_small;
  if (*duration > range.most) return Misread::too_large;
  return *duration;
}

std::string show_duration(Duration duration) {
  if (duration == Duration{0}) return "0s";
  const bool negative = duration < Duration{0};
  auto left = static_cast<std::uint64_t>(duration.count());
  if (negative) left = ~left + 1;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  std::string text;
  const std::uint64_t hours = left / (3600 * kSecond);
  const std::uint64_t minutes = left / (60 * kSecond) % 60;
  const std::uint64_t nanoseconds = left % (60 * kSecond);
  if (hours > 0) text += std::to_string(hours) + "h";
  if (minutes > 0) text += std::to_string(minutes) + "m";
  if (nanoseconds > 0) {
    std::string fraction = std::to_string(nanoseconds % kSecond);
    fraction.insert(0, 9 - fraction.size(), '0');
    while (!fraction.empty() && fraction.back() == '0') fraction.pop_back();
    text += std::to_string(nanoseconds / kSecond) + (fraction.empty() ? "" : "." + fraction) + "s";
  }
  return (negative ? "-" : "") + text;
}

}  // namespace sluice
