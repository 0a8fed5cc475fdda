#pragma once

#include "common/base/result.h"
#include "common/messages/stat.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::proto {

/// Largest frame of stats that is read.
inline constexpr std::size_t kStatFrameBytesMax = std::size_t{4} << 20U;

/// Most stats read from one frame.
inline constexpr std::size_t kFrameStatsMax = 100'000;

/// A WireStatMessages: the payload of one binary frame between activator, autoscaler and its
/// replicas (activator.md 8.2).
[[nodiscard]] std::string encode_stat_messages(std::span<const StatMessage> messages);

/// Reads one. Entries without a stat are skipped, as are those whose names no revision can have.
/// too_large: more than kStatFrameBytesMax bytes or kFrameStatsMax entries; bad_request: no
/// WireStatMessages. Figures are as sent, not judged.
[[nodiscard]] Result<std::vector<StatMessage>> decode_stat_messages(std::string_view bytes);

}  // namespace sluice::proto
