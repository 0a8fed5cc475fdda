#include "load/core/quantity.h"

#include "common/values/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace sluice::loadgen {

namespace {

constexpr Duration kLongestDuration = std::chrono::hours{24};
constexpr std::size_t kShownMax = 40;

std::size_t number_length(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  return end == std::string_view::npos ? text.size() : end;
}

std::string fixed(double value, int decimals) {
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%.*f", decimals, value);
  return out.data();
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || number_length(text) != text.size() || text.front() == '.')
    return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Duration, Problem> parse_duration(std::string_view text, std::string_view what) {
  const auto duration = read_duration(text, {Duration{0}, kLongestDuration});
  if (duration) return *duration;
  const std::string shown = "'" + std::string{text.substr(0, kShownMax)} + "'";
  if (duration.error() == Misread::too_large) {
    return Problem{std::string{what} + " is longer than a day: " + shown, "give at most 24h"};
  }
  return Problem{std::string{what} + " is not a duration: " + shown,
                 "write a number with a unit, like 30s, 1m30s or 250ms"};
}

std::optional<Problem> set_duration(Duration& to, std::string_view text, std::string_view what) {
  if (text.empty()) return std::nullopt;
  const auto duration = parse_duration(text, what);
  if (!duration) return duration.error();
  to = *duration;
  return std::nullopt;
}

std::string grouped(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ' ');
  return digits;
}

std::string milliseconds(Duration duration) {
  const double value = to_seconds(duration) * 1e3;
  return fixed(value, value > 0 && value < 0.0995 ? 2 : 1);
}

std::string spoken(Duration duration) {
  const double seconds = to_seconds(duration);
  if (seconds == 0 || seconds >= 0.9995) return plain(std::round(seconds * 10) / 10) + " s";
  if (seconds < 0.00995) return plain(std::round(seconds * 1e4) / 10) + " ms";
  return plain(std::round(seconds * 1e3)) + " ms";
}

std::string plain(double number) {
  std::string text = fixed(number, 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace sluice::loadgen
