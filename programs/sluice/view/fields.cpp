#include "programs/sluice/view/fields.h"

#include "common/base/clean_text.h"
#include "common/json/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::view {
namespace {

constexpr std::size_t kGapMax = 2;  // between two words of a line that is broken

// 0 for what rounds to it, since -0.0 is printed with its sign.
double without_sign(double value, double half) {
  return std::abs(value) < half ? 0.0 : value;
}

std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t used = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++used > columns) break;
  }
  return text.substr(0, at);
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

std::string bounds_text(const nlohmann::json& object) {
  const std::int64_t max = integer_field(object, "max");
  return fmt::format("{}..{}", integer_field(object, "min"), max > 0 ? std::to_string(max) : "any");
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (width_of(text) <= columns) return std::string(text);
  return columns == 0 ? "" : std::string(first_columns(text, columns - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view line, std::size_t columns, std::size_t indent) {
  if (columns == 0 || width_of(line) <= columns) return {std::string(line)};
  const std::string margin(std::min(indent, columns / 4), ' ');
  std::vector<std::string> lines;
  std::string begun;
  bool has_words = false;
  const auto end_line = [&] {
    lines.push_back(std::exchange(begun, margin));
    has_words = false;
  };
  while (!line.empty()) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(spaces);
    std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    const std::string gap(std::min(spaces, kGapMax), ' ');
    if (width_of(begun) + gap.size() + width_of(word) <= columns) {
      begun.append(gap).append(word);
    } else {
      if (has_words) end_line();
      for (; width_of(begun) + width_of(word) > columns; end_line()) {
        const std::string_view piece = first_columns(word, columns - width_of(begun));
        begun += piece;
        word.remove_prefix(piece.size());
      }
      begun += word;
    }
    has_words = true;
  }
  lines.push_back(std::move(begun));
  return lines;
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
