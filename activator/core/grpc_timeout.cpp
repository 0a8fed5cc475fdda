#include "activator/core/grpc_timeout.h"

#include <cstdint>
#include <limits>

namespace sluice::http {
namespace {

constexpr std::size_t kDigitsMax = 8;

std::int64_t nanoseconds_per(char unit) {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::optional<Duration> grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return std::nullopt;
  const std::int64_t unit = nanoseconds_per(text.back());
  if (unit == 0) return std::nullopt;
  std::int64_t count = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    count = count * 10 + (c - '0');
  }
  if (count > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
  return Duration{count * unit};
}

}  // namespace sluice::http
