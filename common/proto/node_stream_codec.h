#pragma once

#include "common/base/result.h"
#include "common/messages/node_stream.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::proto {

/// Largest message of the stream, either way (protocols.md 1).
inline constexpr std::size_t kNodeStreamBytesMax = std::size_t{4} << 20U;

/// Bytes of a message. Bounded by its sender: one that would not decode is the sender's mistake.
[[nodiscard]] std::string encode(const NodeReport& report);
[[nodiscard]] std::string encode(const NodeReportAck& ack);

/// Reads one message. too_large: more than kNodeStreamBytesMax, or more than kThrottledMax entries;
/// bad_request: no such message, or a name that is too long or, for the node, missing. Sizes below
/// 0 read as 0, stall shares outside 0 to 100 as the nearer of them; unknown fields and values of
/// enumerations are ignored. Of a report of another protocol only the number is read.
[[nodiscard]] Result<NodeReport> decode_node_report(std::string_view bytes);

/// Likewise; an interval of 0 reads as kReportInterval, any other is bounded by kReportIntervalMin
/// and kReportIntervalMax.
[[nodiscard]] Result<NodeReportAck> decode_node_report_ack(std::string_view bytes);

}  // namespace sluice::proto
