#include "platform/process/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace sluice::local {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Longest names first, so that `ms` is not read as `m`.
constexpr std::array<Unit, 7> kTimeUnits{{{"ns", 1},
                                          {"us", 1e3},
                                          {"\xC2\xB5s", 1e3},
                                          {"ms", 1e6},
                                          {"s", 1e9},
                                          {"m", 60e9},
                                          {"h", 3600e9}}};

constexpr std::array<Unit, 13> kSizeUnits{{{"Ki", 1024.0},
                                           {"Mi", 1048576.0},
                                           {"Gi", 1073741824.0},
                                           {"Ti", 1099511627776.0},
                                           {"Pi", 1125899906842624.0},
                                           {"Ei", 1152921504606846976.0},
                                           {"k", 1e3},
                                           {"K", 1e3},
                                           {"M", 1e6},
                                           {"G", 1e9},
                                           {"T", 1e12},
                                           {"P", 1e15},
                                           {"E", 1e18}}};

constexpr double kLongestDuration = 10.0 * 365 * 24 * 3600 * 1e9;
constexpr double kCoresMax = 4096;
constexpr std::size_t kQuantityLengthMax = 64;

Problem not_a(std::string_view kind, std::string_view text, std::string_view examples) {
  return Problem{fmt::format("`{}` is not {}", text.substr(0, kQuantityLengthMax), kind),
                 fmt::format("write it like {}", examples)};
}

/// Takes digits with an optional fraction off the front of `text`; no sign, no exponent.
std::optional<double> take_number(std::string_view& text) {
  std::size_t length = 0;
  bool digits = false;
  bool point = false;
  while (length < text.size()) {
    const char c = text[length];
    if (c >= '0' && c <= '9')
      digits = true;
    else if (c == '.' && !point)
      point = true;
    else
      break;
    ++length;
  }
  if (!digits) return std::nullopt;
  double value = 0;
  const auto end = text.data() + length;
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  text.remove_prefix(length);
  return value;
}

}  // namespace

Result<Duration, Problem> parse_duration(std::string_view text) {
  const auto wrong = [&] { return not_a("a duration", text, "10s, 500ms or 1h30m"); };
  if (text == "0") return Duration{0};
  if (text.empty() || text.size() > kQuantityLengthMax) return wrong();
  double total = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto number = take_number(rest);
    if (!number) return wrong();
    const Unit* found = nullptr;
    for (const Unit& unit : kTimeUnits) {
      // `m` must not swallow the first letter of `ms`, which stands before it in the list.
      if (rest.substr(0, unit.name.size()) == unit.name) {
        found = &unit;
        break;
      }
    }
    if (found == nullptr) return wrong();
    rest.remove_prefix(found->name.size());
    total += *number * found->factor;
  }
  if (total > kLongestDuration)
    return Problem{fmt::format("`{}` is too long", text), "use at most 10 years"};
  return Duration{std::llround(total)};
}

Result<std::int64_t, Problem> parse_size(std::string_view text) {
  const auto wrong = [&] { return not_a("a size", text, "64Mi, 1Gi or 500M"); };
  if (text.empty() || text.size() > kQuantityLengthMax) return wrong();
  std::string_view rest = text;
  const bool whole = text.find('.') == std::string_view::npos;
  std::int64_t exact = 0;
  if (whole) {
    const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), exact);
    if (parsed.ec != std::errc{} || exact < 0) return wrong();
  }
  const auto number = take_number(rest);
  if (!number) return wrong();
  if (rest.empty()) return whole ? exact : std::llround(std::ceil(*number));
  for (const Unit& unit : kSizeUnits) {
    if (rest != unit.name) continue;
    const double bytes = *number * unit.factor;
    if (bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
      return Problem{fmt::format("`{}` is too large", text), "use less than 8Ei"};
    }
    return whole ? exact * static_cast<std::int64_t>(unit.factor)
                 : static_cast<std::int64_t>(std::ceil(bytes));
  }
  return wrong();
}

Result<double, Problem> parse_cpu(std::string_view text) {
  const auto wrong = [&] { return not_a("a number of CPUs", text, "0.5, 2 or 500m"); };
  if (text.empty() || text.size() > kQuantityLengthMax) return wrong();
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number || (!rest.empty() && rest != "m")) return wrong();
  const double cores = rest.empty() ? *number : *number / 1000;
  if (cores <= 0 || cores > kCoresMax) {
    return Problem{fmt::format("`{}` CPUs cannot be", text), "use more than 0 and at most 4096"};
  }
  return cores;
}

std::string format_duration(Duration duration) {
  const auto count = duration.count();
  if (count % 1'000'000'000 == 0) return fmt::format("{}s", count / 1'000'000'000);
  if (count % 1'000'000 == 0) return fmt::format("{}ms", count / 1'000'000);
  return fmt::format("{}ns", count);
}

std::string format_size(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames{"", "Ki", "Mi", "Gi", "Ti"};
  std::size_t step = 0;
  while (bytes != 0 && bytes % 1024 == 0 && step + 1 < kNames.size()) {
    bytes /= 1024;
    ++step;
  }
  return fmt::format("{}{}", bytes, kNames[step]);
}

std::string format_cpu(double cores) {
  const double thousandths = std::round(cores * 1000);
  const bool whole = std::floor(cores) >= cores;
  if (whole) return fmt::format("{:.0f}", cores);
  // Only when dividing again gives the very same number.
  const double again = thousandths / 1000;
  if (again >= cores && again <= cores) return fmt::format("{:.0f}m", thousandths);
  return fmt::format("{}", cores);
}

}  // namespace sluice::local
