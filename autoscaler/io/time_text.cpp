#include "autoscaler/io/time_text.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

namespace sluice::autoscaler {
namespace {

constexpr Duration kDay = std::chrono::hours{24};
constexpr Duration kAgeMax = std::chrono::hours{24} * 3653;

// Takes exactly `digits` digits from the front of `text`.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) {
    return std::nullopt;
  }
  const char* end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || text.front() == '-') {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

std::optional<Duration> take_fraction(std::string_view& text) {
  std::int64_t nanoseconds = 0;
  std::size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9' && digits < 9) {
    nanoseconds = nanoseconds * 10 + (text.front() - '0');
    text.remove_prefix(1);
    ++digits;
  }
  if (digits == 0) {
    return std::nullopt;
  }
  for (; digits < 9; ++digits) {
    nanoseconds *= 10;
  }
  return Duration{nanoseconds};
}

std::optional<Duration> take_clock(std::string_view& text, bool seconds_required) {
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) {
    return std::nullopt;
  }
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) {
    return std::nullopt;
  }
  Duration clock = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
  if (!take(text, ':')) {
    return seconds_required ? std::nullopt : std::optional<Duration>(clock);
  }
  const auto seconds = take_number(text, 2);
  if (!seconds || *seconds > 60) {
    return std::nullopt;
  }
  clock += std::chrono::seconds{*seconds};
  if (take(text, '.')) {
    const auto fraction = take_fraction(text);
    if (!fraction) {
      return std::nullopt;
    }
    clock += *fraction;
  }
  return clock;
}

std::optional<Duration> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) {
    return Duration{0};
  }
  const bool minus = take(text, '-');
  if (!minus && !take(text, '+')) {
    return std::nullopt;
  }
  const auto hours = take_number(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) {
    return std::nullopt;
  }
  const auto minutes = take_number(text, 2);
  if (!minutes || *minutes > 59) {
    return std::nullopt;
  }
  const Duration offset = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
  return minus ? -offset : offset;
}

std::tm local_time(TimePoint at) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string format_time(TimePoint at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(at - seconds).count();
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  std::string out(text.data());
  if (milliseconds != 0) {
    std::snprintf(text.data(), text.size(), ".%03d", static_cast<int>(milliseconds));
    out += text.data();
  }
  return out + "Z";
}

std::optional<TimePoint> parse_time(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) {
    return std::nullopt;
  }
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) {
    return std::nullopt;
  }
  const auto day = take_number(text, 2);
  // Years that nanoseconds in 64 bits can hold.
  if (!day || *year < 1970 || *year > 2200) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok() || !(take(text, 'T') || take(text, 't') || take(text, ' '))) {
    return std::nullopt;
  }
  const auto clock = take_clock(text, true);
  if (!clock) {
    return std::nullopt;
  }
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) {
    return std::nullopt;
  }
  return TimePoint(std::chrono::sys_days(date)) + *clock - *offset;
}

std::optional<Duration> parse_age(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}}};
  double seconds = 0;
  if (text.empty()) {
    return std::nullopt;
  }
  while (!text.empty()) {
    double value = 0;
    const auto [stopped, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || !(value >= 0)) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
    bool known = false;
    for (const auto& [name, factor] : kUnits) {
      if (text.starts_with(name)) {
        seconds += value * factor;
        text.remove_prefix(name.size());
        known = true;
        break;
      }
    }
    if (!known || seconds > to_seconds(kAgeMax)) {
      return std::nullopt;
    }
  }
  return from_seconds(seconds);
}

std::optional<TimePoint> parse_moment(std::string_view text, TimePoint now) {
  if (const auto exact = parse_time(text)) {
    return exact;
  }
  if (const auto age = parse_age(text)) {
    return now - *age;
  }
  std::string_view rest = text;
  const auto clock = take_clock(rest, false);
  if (!clock || !rest.empty()) {
    return std::nullopt;
  }
  std::tm parts = local_time(now);
  parts.tm_hour = 0;
  parts.tm_min = 0;
  parts.tm_sec = 0;
  parts.tm_isdst = -1;
  const TimePoint midnight{std::chrono::seconds{::mktime(&parts)}};
  const TimePoint moment = midnight + *clock;
  return moment <= now ? moment : moment - kDay;
}

std::optional<TimePoint> parse_moment_end(std::string_view text, TimePoint now) {
  const auto moment = parse_moment(text, now);
  if (!moment || parse_age(text)) {
    return moment;
  }
  Duration unit = std::chrono::seconds{1};
  const std::size_t point = text.find('.');
  const std::string_view fraction = point == text.npos ? "" : text.substr(point + 1);
  for (const char digit : fraction) {
    if (digit < '0' || digit > '9') {
      break;
    }
    unit /= 10;
  }
  return *moment + unit - Duration{1};
}

std::string format_clock(TimePoint at) {
  const std::tm parts = local_time(at);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &parts);
  return text.data();
}

}  // namespace sluice::autoscaler
