#include "programs/sluice/view/fields.h"

#include "common/base/clean_text.h"
#include "common/json/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::view {
namespace {

// 0 for what rounds to it, since -0.0 is printed with its sign.
double without_sign(double value, double half) {
  return std::abs(value) < half ? 0.0 : value;
}

}  // namespace

std::string text_field(const nlohmann::json& object, std::string_view key) {
  return printable(reading::text(object, key));
}

std::int64_t integer_field(const nlohmann::json& object, std::string_view key,
                           std::int64_t missing) {
  const auto value = reading::number(object, key);
  return value && std::abs(*value) < 9e15 ? static_cast<std::int64_t>(*value) : missing;
}

std::string printable(std::string_view text) {
  std::string out = clean_text(text);
  std::replace(out.begin(), out.end(), '\t', ' ');
  return out;
}

std::string one_decimal(std::optional<double> value) {
  return value ? fmt::format("{:.1f}", without_sign(*value, 0.05)) : "-";
}

std::string rounded(std::optional<double> value) {
  return value ? fmt::format("{:.0f}", without_sign(*value, 0.5)) : "-";
}

std::string target_text(const nlohmann::json& object) {
  const auto target = reading::number(object, "target");
  const auto total = reading::number(object, "total");
  std::string text = one_decimal(target);
  if (target && total && *total > 0) {
    text += fmt::format(" ({:.0f} % of {:g})", 100 * *target / *total, *total);
  }
  return text;
}

std::string bounds_text(const json& object) {
  const std::int64_t max = integer_field(object, "max");
  return fmt::format("{}..{}", integer_field(object, "min"), max > 0 ? std::to_string(max) : "any");
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++used >= columns) break;
  }
  return std::string(text.substr(0, at)) + (columns > 0 ? "…" : "");
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t used = width_of(text);
  if (used < width) {
    text.append(width - used, ' ');
  }
  return text;
}

std::string minutes_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, seconds));
  if (whole < 3600) {
    return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
  }
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace sluice::view
