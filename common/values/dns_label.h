#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace sluice {

/// Whether `name` is a DNS label: 1 to 63 of a-z, 0-9 and `-`, no `-` at either end.
[[nodiscard]] constexpr bool is_dns_label(std::string_view name) {
  constexpr std::size_t kLengthMax = 63;
  if (name.empty() || name.size() > kLengthMax || name.front() == '-' || name.back() == '-')
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace sluice
