#include "common/values/quantity.h"

#include "common/values/whole_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace sluice {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};

// `K` is not one of Kubernetes' units; people write it and mean `k`.
constexpr std::array<Unit, 14> kUnits{{{"", 1},
                                       {"Ki", std::int64_t{1} << 10},
                                       {"Mi", std::int64_t{1} << 20},
                                       {"Gi", std::int64_t{1} << 30},
                                       {"Ti", std::int64_t{1} << 40},
                                       {"Pi", std::int64_t{1} << 50},
                                       {"Ei", std::int64_t{1} << 60},
                                       {"k", 1'000},
                                       {"K", 1'000},
                                       {"M", 1'000'000},
                                       {"G", 1'000'000'000},
                                       {"T", 1'000'000'000'000},
                                       {"P", 1'000'000'000'000'000},
                                       {"E", 1'000'000'000'000'000'000}}};

// The digits at the front of `text`, with at most one point.
std::string_view number_of(std::string_view text) {
  std::size_t end = text.find_first_not_of("0123456789.");
  end = std::min(end, text.size());
  const std::size_t point = std::min(text.find('.'), end);
  const std::size_t second = point < end ? text.find('.', point + 1) : end;
  return text.substr(0, std::min(second, end));
}

std::optional<double> decimal(std::string_view digits) {
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, wrong] = std::from_chars(digits.data(), end, value);
  if (wrong != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

Result<std::int64_t, Misread> read_size(std::string_view text) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::string_view digits = number_of(text);
  const std::string_view name = text.substr(digits.size());
  const auto* const unit = std::find_if(kUnits.begin(), kUnits.end(),
                                        [name](const Unit& each) { return each.name == name; });
  const auto number = decimal(digits);
  if (!number || unit == kUnits.end()) return Misread::malformed;
  // Whole numbers are exact beyond what a double counts.
  if (const auto whole = whole_number<std::int64_t>(digits)) {
    if (*whole > kMost / unit->bytes) return Misread::too_large;
    return *whole * unit->bytes;
  }
  const double bytes = std::ceil(*number * static_cast<double>(unit->bytes));
  if (bytes >= static_cast<double>(kMost)) return Misread::too_large;
  return static_cast<std::int64_t>(bytes);
}

Result<double, Misread> read_cores(std::string_view text) {
  const std::string_view digits = number_of(text);
  const std::string_view unit = text.substr(digits.size());
  const auto number = decimal(digits);
  if (!number || (unit != "" && unit != "m")) return Misread::malformed;
  return unit == "m" ? *number / 1000 : *number;
}

}  // namespace sluice
