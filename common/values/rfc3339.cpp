#include "common/values/rfc3339.h"

#include "common/values/whole_number.h"

#include <array>
#include <cstdio>

namespace sluice {
namespace {

using std::chrono::floor;
using std::chrono::seconds;

// Takes exactly `digits` digits from the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  const auto value = whole_number<unsigned>(text.substr(0, digits));
  if (!value) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<int>(*value);
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<TimePoint> take_date(std::string_view& text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || *year < 1970 || *year > 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  return TimePoint{std::chrono::sys_days{date}};
}

// `14:03`
std::optional<Duration> take_minutes(std::string_view& text) {
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
}

std::optional<Duration> take_fraction(std::string_view& text) {
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 1'000'000'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && unit > 1) {
    unit /= 10;
    nanoseconds += unit * (text.front() - '0');
    text.remove_prefix(1);
  }
  if (unit == 1'000'000'000) return std::nullopt;
  return Duration{nanoseconds};
}

std::optional<Duration> take_clock(std::string_view& text) {
  const auto minutes = take_minutes(text);
  if (!minutes || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return std::nullopt;
  const auto fraction = take(text, '.') ? take_fraction(text) : Duration{0};
  if (!fraction) return std::nullopt;
  return *minutes + seconds{*second} + *fraction;
}

// What local time is ahead of UTC by.
std::optional<Duration> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return Duration{0};
  const bool behind = take(text, '-');
  if (!behind && !take(text, '+')) return std::nullopt;
  const auto offset = take_minutes(text);
  return offset && behind ? -*offset : offset;
}

int digits_of(Fraction fraction, Duration rest) {
  switch (fraction) {
    case Fraction::none:
      return 0;
    case Fraction::milliseconds:
      return 3;
    case Fraction::some_milliseconds:
      return rest < std::chrono::milliseconds{1} ? 0 : 3;
    case Fraction::microseconds:
      return 6;
  }
  return 0;
}

}  // namespace

std::string rfc3339(TimePoint at, Fraction fraction) {
  const auto second = floor<seconds>(at);
  const auto day = floor<std::chrono::days>(second);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{second - day};
  std::array<char, 64> text;
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  std::string out{text.data(), static_cast<std::size_t>(size)};
  const Duration rest = at - second;
  if (const int digits = digits_of(fraction, rest); digits > 0) {
    std::snprintf(text.data(), text.size(), "%09d", static_cast<int>(rest.count()));
    out.append(1, '.').append(text.data(), static_cast<std::size_t>(digits));
  }
  return out + "Z";
}

std::optional<TimePoint> parse_rfc3339(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !(take(text, 'T') || take(text, 't') || take(text, ' '))) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return *date + *clock - *offset;
}

}  // namespace sluice
