#pragma once

#include "load/core/histogram.h"
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace sluice::loadgen {

/// A bucket's place, in nanoseconds with three digits, and its count.
using HdrBucket = std::pair<std::uint32_t, std::uint64_t>;

/// The buckets, in order, as the V2 encoding of HdrHistogram before it is compressed.
[[nodiscard]] std::string hdr_bytes(std::span<const HdrBucket> buckets);

/// The percentiles of `times` as HdrHistogram prints them (`.hgrm`): milliseconds, five steps to
/// each half of what is left to 100 %.
[[nodiscard]] std::string percentile_text(const Histogram& times);

}  // namespace sluice::loadgen
