#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::proto {

/// Twin of the message metrics.Stat (protocols.md 2) for code that must not see generated headers.
struct Stat {
  std::string pod_name;
  double average_concurrent_requests = 0;
  double average_proxied_concurrent_requests = 0;
  double request_count = 0;
  double proxied_request_count = 0;
  double process_uptime = 0;    ///< seconds
  std::int64_t timestamp = 0;   ///< Unix seconds; 0 = not set

  friend bool operator==(const Stat&, const Stat&) = default;
};

/// Most bytes of an encoded Stat that a scrape reads: 6 * 10 + 256 + 20 (queue-proxy.md 6).
inline constexpr std::size_t kStatBytesMax = 336;

[[nodiscard]] std::string encode(const Stat& stat);

/// Decodes at most kStatBytesMax bytes; bad_request when they are no Stat.
[[nodiscard]] Result<Stat> decode_stat(std::string_view bytes);

}  // namespace sluice::proto
