#include "platform/process/quantity.h"

#include "common/values/duration.h"
#include "common/values/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace sluice::local {
namespace {

constexpr Duration kLongestDuration = std::chrono::hours{10 * 365 * 24};
constexpr double kCoresMax = 4096;
constexpr std::int64_t kMemoryMin = 64 * 1024;
constexpr std::size_t kShownMax = 64;

std::string_view shown(std::string_view text) {
  return text.substr(0, kShownMax);
}

Problem not_a(std::string_view kind, std::string_view text, std::string_view examples) {
  return Problem{fmt::format("`{}` is not {}", shown(text), kind),
                 fmt::format("write it like {}", examples)};
}

}  // namespace

Result<Duration, Problem> parse_duration(std::string_view text) {
  const auto duration = read_duration(text, {Duration{0}, kLongestDuration});
  if (duration) return *duration;
  if (duration.error() == Misread::too_large) {
    return Problem{fmt::format("`{}` is too long", shown(text)), "use at most 10 years"};
  }
  return not_a("a duration", text, "10s, 500ms or 1h30m");
}

Result<std::int64_t, Problem> parse_size(std::string_view text) {
  const auto bytes = read_size(text);
  if (bytes) return *bytes;
  if (bytes.error() == Misread::too_large) {
    return Problem{fmt::format("`{}` is too large", shown(text)), "use less than 8Ei"};
  }
  return not_a("a size", text, "64Mi, 1Gi or 500M");
}

Result<std::int64_t, Problem> parse_memory(std::string_view text) {
  auto bytes = parse_size(text);
  if (!bytes || *bytes >= kMemoryMin) return bytes;
  if (*bytes == 0) return Problem{"`memory` must be more than 0", "write it like 64Mi"};
  return Problem{fmt::format("`{}` is only {} {} of memory", shown(text), *bytes,
                             *bytes == 1 ? "byte" : "bytes"),
                 fmt::format("did you mean {}Mi?", *bytes)};
}

Result<double, Problem> parse_cpu(std::string_view text) {
  const auto cores = read_cores(text);
  if (!cores) return not_a("a number of CPUs", text, "0.5, 2 or 500m");
  if (*cores <= 0 || *cores > kCoresMax) {
    return Problem{fmt::format("`{}` is out of range for a number of CPUs", shown(text)),
                   "use more than 0 and at most 4096"};
  }
  return *cores;
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
