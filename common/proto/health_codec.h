#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::proto {

/// Twin of HealthCheckResponse.ServingStatus for code that must not see generated headers.
enum class Health : std::uint8_t { unknown, serving, not_serving, service_unknown };

/// The body of a grpc.health.v1.Health/Check request: one message in gRPC's frame.
[[nodiscard]] std::string encode_health_check(const std::string& service);

/// Reads the body of its response: exactly one uncompressed message. bad_request when it is not
/// one; a status unknown to this version is `unknown`.
[[nodiscard]] Result<Health> decode_health(std::string_view body);

/// The name of a status as the protocol has it.
[[nodiscard]] std::string_view name_of(Health health);

}  // namespace sluice::proto
