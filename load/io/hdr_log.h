#pragma once

#include "load/core/hdr.h"
#include "load/core/report.h"
#include <span>
#include <string>

namespace sluice::loadgen {

/// The buckets as HdrHistogram's V2 encoding, compressed, as base64: it begins with HISTFAAA.
[[nodiscard]] std::string hdr_text(std::span<const HdrBucket> buckets);

/// A histogram log (`.hlog`, format 1.3): a line for each second with answers, and target, whose
/// name is its tag. Nanoseconds, three digits; the largest value of a line in milliseconds.
[[nodiscard]] std::string hdr_log(const Report& report, TimePoint started);

}  // namespace sluice::loadgen
