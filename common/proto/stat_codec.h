#pragma once

#include "common/base/result.h"
#include "common/messages/stat.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::proto {

/// Most bytes of an encoded Stat that a scrape reads: 6 * 10 + 256 + 20 (queue-proxy.md 6).
inline constexpr std::size_t kStatBytesMax = 336;

[[nodiscard]] std::string encode(const Stat& stat);

/// Decodes at most kStatBytesMax bytes; bad_request when they are no Stat.
[[nodiscard]] Result<Stat> decode_stat(std::string_view bytes);

}  // namespace sluice::proto
