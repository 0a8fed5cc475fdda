#pragma once

#include "common/time/time_point.h"

#include <optional>
#include <string_view>

namespace sluice::http {

/// What a gRPC client gives its call: one to eight digits and a unit out of H, M, S, m, u, n.
/// Nothing for any other text, and for what a count of nanoseconds cannot hold.
[[nodiscard]] std::optional<Duration> grpc_timeout(std::string_view text);

}  // namespace sluice::http
