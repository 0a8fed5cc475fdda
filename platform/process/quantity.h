#pragma once

#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::local {

/// A duration in Go's notation: never negative, at most 10 years.
[[nodiscard]] Result<Duration, Problem> parse_duration(std::string_view text);

/// Bytes as Kubernetes writes them.
[[nodiscard]] Result<std::int64_t, Problem> parse_size(std::string_view text);

/// Memory of a replica: a size of at least 64 KiB. Fewer bytes are a number whose unit was left
/// out.
[[nodiscard]] Result<std::int64_t, Problem> parse_memory(std::string_view text);

/// CPU cores as Kubernetes writes them: more than 0 and at most 4096.
[[nodiscard]] Result<double, Problem> parse_cpu(std::string_view text);

/// The shortest exact form that parse_duration reads back: `1m0s` is written `60s`, 1500 ms
/// `1500ms`.
[[nodiscard]] std::string format_duration(Duration duration);

/// The shortest exact form that parse_size reads back: `64Mi`, `1000`.
[[nodiscard]] std::string format_size(std::int64_t bytes);

/// The shortest form that parse_cpu reads back to the same number: `2`, `500m`, `0.0625`.
[[nodiscard]] std::string format_cpu(double cores);

}  // namespace sluice::local
