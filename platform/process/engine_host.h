#pragma once

#include <string_view>

namespace sluice::local {

/// The host under which the front door has nothing but the engine itself, so that a page of a
/// service never shares an origin with it.
inline constexpr std::string_view kEngineHost = "sluice.localhost";

/// The service name that would claim that host.
inline constexpr std::string_view kReservedService = "sluice";

}  // namespace sluice::local
