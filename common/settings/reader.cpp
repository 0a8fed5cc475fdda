#include "common/settings/reader.h"

#include "common/base/clean_text.h"
#include "common/values/go_syntax.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace sluice::settings {
namespace {

constexpr std::size_t kValueShown = 120;
constexpr std::size_t kComplaintMax = 500;

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
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): set by no thread
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::string Reader::text(const char* name, Need need) {
  return (need == Need::required ? required(name) : find(name)).value_or("");
}

std::string Reader::needed(const char* name, const std::string& expected) {
  std::string value = text(name, Need::required);
  if (value.empty()) refuse(name, value, expected);
  return value;
}

std::vector<std::string> Reader::list(const char* name) {
  std::vector<std::string> parts;
  const std::string value = text(name, Need::optional);
  if (value.empty()) return parts;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    parts.push_back(value.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

long Reader::integer(const char* name, Range range) {
  return required(name) ? integer_or(name, range.least, range) : range.least;
}

long Reader::integer_or(const char* name, long fallback, Range range) {
  const auto value = find(name);
  if (!value) return fallback;
  const auto number = read_go_int(*value, 64);
  if (number && *number >= range.least && *number <= range.most) return *number;
  refuse(name, *value,
         "an integer from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  return fallback;
}

std::size_t Reader::size_or(const char* name, std::size_t fallback, Range range) {
  return static_cast<std::size_t>(integer_or(name, static_cast<long>(fallback), range));
}

Duration Reader::wait_or(const char* name, Duration fallback, DurationRange range) {
  const auto value = find(name);
  if (!value) return fallback;
  const auto duration = read_duration(*value, range);
  if (duration) return *duration;
  refuse(name, *value,
         "a duration such as 10s or 500ms, from " + show_duration(range.least) + " to " +
             show_duration(range.most));
  return fallback;
}

bool Reader::boolean_or(const char* name, bool fallback) {
  const auto value = find(name);
  if (!value) return fallback;
  const auto flag = read_go_bool(*value);
  if (!flag) refuse(name, *value, "true or false");
  return flag.value_or(false);
}

net::Address Reader::address(const char* name, const char* host) {
  const auto value = required(name);
  return value ? parse_address(name, *value, host) : net::Address{};
}

net::Address Reader::address_or(const char* name, const char* fallback) {
  return parse_address(name, find(name).value_or(fallback), "");
}

std::optional<net::Address> Reader::address_unless_empty(const char* name, const char* fallback) {
  const auto value = find(name);
  if (value && value->empty()) return std::nullopt;
  return address_or(name, fallback);
}

void Reader::refuse(const char* name, const std::string& value, const std::string& expected) {
  complain({std::string{name} + "='" + printable(value, kValueShown) + "' is wrong",
            "give " + expected});
}

void Reader::complain(const Problem& problem) {
  if (problem_) return;
  problem_ = Problem{printable(problem.what, kComplaintMax), printable(problem.fix, kComplaintMax)};
}

std::optional<std::string> Reader::required(const char* name) {
  auto value = find(name);
  if (!value) complain({std::string{"required variable "} + name + " is not set", "set it"});
  return value;
}

net::Address Reader::parse_address(const char* name, const std::string& value, const char* host) {
  const std::string text =
      value.find(':') == std::string::npos ? std::string{host} + ":" + value : value;
  const auto parsed = net::parse_address(text);
  if (parsed) return *parsed;
  refuse(name, value, "a port, host:port or unix:/path");
  return {};
}

}  // namespace sluice::settings
