#include "load/core/trace_time.h"

#include "common/values/rfc3339.h"
#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace sluice::loadgen {

namespace {

constexpr std::uint64_t kSecondsMax = 7'258'118'400;  // 2200-01-01
// Seconds since 1970 reach this in 5138, milliseconds did in 1973.
constexpr std::uint64_t kMillisecondsFrom = 100'000'000'000;
constexpr double kSpanSecondsMax = 86'400;

struct Decimal {
  std::uint64_t whole = 0;
  std::int64_t billionths = 0;
  int digits = 0;  // after the point
};

// Digits, and after a point more of them; what is finer than a billionth is cut off.
std::optional<Decimal> read_decimal(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = whole_number<std::uint64_t>(text.substr(0, point));
  if (!whole) return std::nullopt;
  Decimal decimal{*whole};
  if (point == std::string_view::npos) return decimal;
  const std::string_view rest = text.substr(point + 1);
  std::int64_t unit = 1'000'000'000;
  for (const char c : rest) {
    if (c < '0' || c > '9') return std::nullopt;
    ++decimal.digits;
    unit /= 10;
    decimal.billionths += unit * (c - '0');
  }
  return rest.empty() ? std::nullopt : std::optional{decimal};
}

// Digits of the second in RFC 3339.
int fraction_digits(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", point + 1);
  return static_cast<int>((end == std::string_view::npos ? text.size() : end) - point - 1);
}

std::optional<RequestTime> read_seconds(const Decimal& decimal) {
  if (decimal.whole >= kSecondsMax) return std::nullopt;
  const Duration at =
      std::chrono::seconds{static_cast<std::int64_t>(decimal.whole)} + Duration{decimal.billionths};
  return RequestTime{at, true, decimal.digits};
}

std::optional<RequestTime> read_milliseconds(const Decimal& decimal) {
  if (decimal.whole / 1000 >= kSecondsMax) return std::nullopt;
  const Duration at = std::chrono::milliseconds{static_cast<std::int64_t>(decimal.whole)} +
                      Duration{decimal.billionths / 1000};
  return RequestTime{at, true, decimal.digits + 3};
}

// `Nov` as `11`; empty: no name of a month.
std::string_view month_of(std::string_view name) {
  constexpr std::string_view kNames = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::string_view kNumbers = "010203040506070809101112";
  const std::size_t at = kNames.find(name);
  if (name.size() != 3 || at == std::string_view::npos || at % 3 != 0) return {};
  return kNumbers.substr(at / 3 * 2, 2);
}

}  // namespace

std::optional<RequestTime> read_offset(std::string_view text) {
  const auto decimal = read_decimal(text);
  auto time = decimal ? read_seconds(*decimal) : std::nullopt;
  if (time) time->dated = false;
  return time;
}

// Put together as RFC 3339, which knows what a date may be.
std::optional<RequestTime> read_log_date(std::string_view text) {
  constexpr std::size_t kDate = std::string_view{"20/Nov/2026:14:03:12"}.size();
  constexpr std::size_t kFractionMax = 10;
  if (text.size() < kDate || text[2] != '/' || text[6] != '/' || text[11] != ':') {
    return std::nullopt;
  }
  const std::string_view month = month_of(text.substr(3, 3));
  const std::size_t blank = std::min(text.find(' '), text.size());
  if (month.empty() || blank < kDate || blank > kDate + kFractionMax) return std::nullopt;
  std::array<char, 64> date{};
  std::size_t size = 0;
  const auto append = [&](std::string_view part) {
    std::copy(part.begin(), part.end(), date.begin() + static_cast<std::ptrdiff_t>(size));
    size += part.size();
  };
  append(text.substr(7, 4));
  append("-");
  append(month);
  append("-");
  append(text.substr(0, 2));
  append("T");
  append(text.substr(12, blank - 12));
  const std::string_view offset = text.substr(std::min(blank + 1, text.size()));
  if (offset.empty()) {
    append("Z");
  } else {
    if (offset.size() != 5) return std::nullopt;
    append(offset.substr(0, 3));
    append(":");
    append(offset.substr(3));
  }
  const auto at = parse_rfc3339({date.data(), size});
  if (!at) return std::nullopt;
  return RequestTime{at->time_since_epoch(), true, fraction_digits(text)};
}

std::optional<RequestTime> Dates::read(std::string_view text) {
  if (const auto at = parse_rfc3339(text)) {
    return RequestTime{at->time_since_epoch(), true, fraction_digits(text)};
  }
  const auto decimal = read_decimal(text);
  if (!decimal) return std::nullopt;
  if (!in_milliseconds_) in_milliseconds_ = decimal->whole >= kMillisecondsFrom;
  return *in_milliseconds_ ? read_milliseconds(*decimal) : read_seconds(*decimal);
}

std::optional<Duration> read_span(std::string_view text, Duration unit) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, wrong] = std::from_chars(text.data(), end, value);
  const double seconds = value * to_seconds(unit);
  const bool valid =
      wrong == std::errc{} && stop == end && value >= 0 && seconds <= kSpanSecondsMax;
  return valid ? std::optional{Duration{std::llround(seconds * 1e9)}} : std::nullopt;
}

}  // namespace sluice::loadgen
