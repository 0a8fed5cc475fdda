#pragma once

#include "common/base/result.h"
#include "common/messages/activator_stream.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::proto {

/// Largest message of a stream, either way (protocols.md 1).
inline constexpr std::size_t kStreamBytesMax = std::size_t{4} << 20U;

/// Bytes of a message. Bounded by its sender: one that would not decode is the sender's mistake.
[[nodiscard]] std::string encode(const ActivatorMessage& message);
[[nodiscard]] std::string encode(const AutoscalerMessage& message);

/// Reads one message. Absent: a kind that is unknown to this version, to be ignored.
/// too_large: more than kStreamBytesMax, or more entries than the bounds of
/// common/messages/activator_stream.h; bad_request: no such message, a revision without a name, or
/// a name that is too long. Entries of a batch without a stat are skipped; unknown fields and
/// values of enumerations are ignored. Negative durations read as 0.
[[nodiscard]] Result<std::optional<ActivatorMessage>> decode_activator_message(
    std::string_view bytes);
[[nodiscard]] Result<std::optional<AutoscalerMessage>> decode_autoscaler_message(
    std::string_view bytes);

}  // namespace sluice::proto
