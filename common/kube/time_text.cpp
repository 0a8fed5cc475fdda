#include "common/kube/time_text.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace sluice::kube {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::seconds;

std::string text_of(TimePoint at, bool with_fraction) {
  const auto second = floor<seconds>(at);
  const auto day = floor<days>(second);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{second - day};
  std::array<char, 64> text;
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()));
  std::string out{text.data(), static_cast<std::size_t>(size)};
  if (with_fraction) {
    const auto fraction = floor<microseconds>(at - second).count();
    const int digits = std::snprintf(text.data(), text.size(), ".%06d", static_cast<int>(fraction));
    out.append(text.data(), static_cast<std::size_t>(digits));
  }
  return out + "Z";
}

// Takes exactly `digits` digits from the front; -1: they are not there.
int take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + digits, value);
  if (ec != std::errc{} || end != text.data() + digits || value < 0) return -1;
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// `.123456`, of which nanoseconds are kept.
Duration take_fraction(std::string_view& text) {
  std::int64_t nanoseconds = 0;
  std::int64_t unit = 100'000'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    nanoseconds += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return Duration{nanoseconds};
}

// `Z`, or what local time is ahead of UTC by.
std::optional<seconds> take_offset(std::string_view& text) {
  if (take_char(text, 'Z') || take_char(text, 'z')) return seconds{0};
  const bool behind = text.starts_with('-');
  if (!behind && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const int hours = take_number(text, 2);
  const bool colon = take_char(text, ':');
  const int minutes = take_number(text, 2);
  if (!colon || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const seconds offset{hours * 3600 + minutes * 60};
  return behind ? -offset : offset;
}

}  // namespace

std::string time_text(TimePoint at) {
  return text_of(at, false);
}

std::string micro_time_text(TimePoint at) {
  return text_of(at, true);
}

std::optional<TimePoint> parse_time(std::string_view text) {
  const int year = take_number(text, 4);
  if (!take_char(text, '-')) return std::nullopt;
  const int month = take_number(text, 2);
  if (!take_char(text, '-')) return std::nullopt;
  const int day = take_number(text, 2);
  if (!take_char(text, 'T') && !take_char(text, 't')) return std::nullopt;
  const int hour = take_number(text, 2);
  if (!take_char(text, ':')) return std::nullopt;
  const int minute = take_number(text, 2);
  if (!take_char(text, ':')) return std::nullopt;
  const int second = take_number(text, 2);
  if (year < 1970 || year > 2200 || month < 1 || day < 1 || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const Duration fraction = take_char(text, '.') ? take_fraction(text) : Duration{0};
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const TimePoint midnight{std::chrono::sys_days{date}};
  return midnight + std::chrono::hours{hour} + std::chrono::minutes{minute} + seconds{second} -
         *offset + fraction;
}

}  // namespace sluice::kube
