#pragma once

#include "common/base/result.h"
#include "common/messages/hand_over.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::proto {

/// Largest message, either way (protocols.md 1).
inline constexpr std::size_t kHandOverBytesMax = std::size_t{4} << 20U;

/// Bytes of as many messages as it takes: none has more than kHandedMax revisions, and none grows
/// further once it has kHandOverFullBytes.
[[nodiscard]] std::vector<std::string> encode_take_requests(
    const std::string& autoscaler, TimePoint sent, std::span<const HandedRevision> revisions);

[[nodiscard]] std::string encode(const TakeReply& reply);

/// Reads one message. too_large: more than kHandOverBytesMax, or more entries than the bounds of
/// common/messages/hand_over.h; bad_request: no such message, a name that no revision can have, a
/// figure that is not finite, a window whose parts do not fit together, a delay that is no falling
/// list. Of a request of another protocol only the number is read.
[[nodiscard]] Result<TakeRequest> decode_take_request(std::string_view bytes);
[[nodiscard]] Result<TakeReply> decode_take_reply(std::string_view bytes);

}  // namespace sluice::proto
