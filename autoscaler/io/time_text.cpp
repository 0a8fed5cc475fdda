#include "autoscaler/io/time_text.h"

#include "common/values/duration.h"
#include "common/values/rfc3339.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace sluice::autoscaler {
namespace {

constexpr Duration kDay = std::chrono::hours{24};
constexpr Duration kAgeMax = std::chrono::hours{24} * 3653;

// `14:03` or `14:03:12`, since midnight.
std::optional<Duration> clock_of(std::string_view text) {
  constexpr std::string_view kMinutesOnly = "14:03";
  const std::string seconds = text.size() == kMinutesOnly.size() ? ":00" : "";
  const auto moment = parse_rfc3339("1970-01-01T" + std::string{text} + seconds + "Z");
  return moment ? std::optional{moment->time_since_epoch()} : std::nullopt;
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
  return rfc3339(at, Fraction::some_milliseconds);
}

std::optional<Duration> parse_age(std::string_view text) {
  const auto age = read_duration(text, {Duration{0}, kAgeMax}, Days::accepted);
  return age ? std::optional{*age} : std::nullopt;
}

std::optional<TimePoint> parse_moment(std::string_view text, TimePoint now) {
  if (const auto exact = parse_rfc3339(text)) {
    return exact;
  }
  if (const auto age = parse_age(text)) {
    return now - *age;
  }
  const auto clock = clock_of(text);
  if (!clock) {
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

std::string format_moment(TimePoint at, TimePoint now) {
  const std::tm then = local_time(at);
  const std::tm today = local_time(now);
  const bool same_day = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
  std::array<char, 16> date{};
  if (!same_day) std::strftime(date.data(), date.size(), "%Y-%m-%d ", &then);
  const auto within = at - std::chrono::floor<std::chrono::seconds>(at);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03d",
                static_cast<int>(within / std::chrono::milliseconds{1}));
  return date.data() + format_clock(at) + fraction.data();
}

}  // namespace sluice::autoscaler
