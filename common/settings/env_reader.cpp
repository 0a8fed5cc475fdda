#include "common/settings/env_reader.h"

#include "common/base/clean_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace sluice::settings {
namespace {

constexpr std::size_t kValueShown = 120;
constexpr std::size_t kComplaintMax = 500;

std::optional<long> parse_integer(const std::string& text) {
  std::string_view digits{text};
  // Go's Atoi takes a plus sign, from_chars does not.
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  long value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, ec] = std::from_chars(digits.data(), end, value);
  if (ec != std::errc{} || stop != end || digits.empty()) return std::nullopt;
  return value;
}

// `10s`, `500ms`, `2m`, bare `0`.
std::optional<Duration> parse_wait(const std::string& text) {
  if (text == "0") return Duration{0};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, ec] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  // Negated so that not-a-number is refused too.
  if (ec != std::errc{} || !(number >= 0 && number <= 1e9)) return std::nullopt;
  const std::string_view unit{stop, static_cast<std::size_t>(end - stop)};
  double seconds = -1;
  if (unit == "ms") seconds = number / 1000;
  if (unit == "s") seconds = number;
  if (unit == "m") seconds = number * 60;
  if (unit == "h") seconds = number * 3600;
  // A tenth of what a count of nanoseconds can hold, some 29 years.
  if (seconds < 0 || seconds > 9e8) return std::nullopt;
  return from_seconds(seconds);
}

std::string wait_text(Duration wait) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  if (wait < seconds{1}) return std::to_string(duration_cast<milliseconds>(wait).count()) + "ms";
  return std::to_string(duration_cast<seconds>(wait).count()) + "s";
}

// Values come from outside, yet a complaint is one printable line of bounded length.
std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string clean = clean_text(text.substr(0, bytes_max));
  std::replace(clean.begin(), clean.end(), '\t', ' ');  // which a text of many lines may keep
  return clean + (text.size() > bytes_max ? "..." : "");
}

}  // namespace

Problem named(const char* setting, const Problem& problem) {
  return {std::string{setting} + ": " + problem.what, problem.fix};
}

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets any
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::string EnvReader::text(const char* name, Need need) {
  return (need == Need::required ? required(name) : find(name)).value_or("");
}

long EnvReader::integer(const char* name, Range range) {
  return required(name) ? integer_or(name, range.least, range) : range.least;
}

long EnvReader::integer_or(const char* name, long fallback, Range range) {
  const auto value = find(name);
  if (!value) return fallback;
  const auto number = parse_integer(*value);
  if (number && *number >= range.least && *number <= range.most) return *number;
  refuse(name, *value,
         "an integer from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  return fallback;
}

std::size_t EnvReader::size_or(const char* name, std::size_t fallback, Range range) {
  return static_cast<std::size_t>(integer_or(name, static_cast<long>(fallback), range));
}

Duration EnvReader::wait_or(const char* name, Duration fallback, WaitRange range) {
  const auto value = find(name);
  if (!value) return fallback;
  const auto duration = parse_wait(*value);
  if (duration && *duration >= range.least && *duration <= range.most) return *duration;
  refuse(name, *value,
         "a duration such as 10s or 500ms, from " + wait_text(range.least) + " to " +
             wait_text(range.most));
  return fallback;
}

bool EnvReader::boolean_or(const char* name, bool fallback) {
  constexpr std::array<std::string_view, 6> kYes{"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kNo{"0", "f", "F", "FALSE", "false", "False"};
  const auto value = find(name);
  if (!value) return fallback;
  if (std::find(kYes.begin(), kYes.end(), *value) != kYes.end()) return true;
  if (std::find(kNo.begin(), kNo.end(), *value) == kNo.end()) refuse(name, *value, "true or false");
  return false;
}

net::Address EnvReader::address(const char* name, const char* host) {
  const auto value = required(name);
  return value ? parse_address(name, *value, host) : net::Address{};
}

net::Address EnvReader::address_or(const char* name, const char* fallback) {
  return parse_address(name, find(name).value_or(fallback), "");
}

void EnvReader::refuse(const char* name, const std::string& value, const std::string& expected) {
  complain({std::string{name} + "='" + printable(value, kValueShown) + "' is wrong",
            "give " + expected});
}

void EnvReader::complain(const Problem& problem) {
  if (problem_) return;
  problem_ = Problem{printable(problem.what, kComplaintMax), printable(problem.fix, kComplaintMax)};
}

std::optional<std::string> EnvReader::required(const char* name) {
  auto value = find(name);
  if (!value) complain({std::string{"required variable "} + name + " is not set", "set it"});
  return value;
}

net::Address EnvReader::parse_address(const char* name, const std::string& value,
                                      const char* host) {
  const std::string text =
      value.find(':') == std::string::npos ? std::string{host} + ":" + value : value;
  const auto parsed = net::parse_address(text);
  if (parsed) return *parsed;
  refuse(name, value, "a port, host:port or unix:/path");
  return {};
}

}  // namespace sluice::settings
