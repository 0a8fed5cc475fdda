#pragma once

#include <string_view>

namespace sluice::queue_proxy {

/// The route a request came by (queue-proxy.md 12; rows 54 and 55), from the values of its headers
/// Knative-Serving-Tag and Knative-Serving-Default-Route; empty when absent. The answer may be a
/// view of `tag`: what a client wrote, of any length.
[[nodiscard]] constexpr std::string_view route_tag(std::string_view tag,
                                                   std::string_view default_route) {
  if (tag.empty()) return default_route.empty() ? "kn:disabled" : "kn:default";
  // A tagged request that is said to be on the default route came by a route we do not know.
  return default_route == "true" ? "kn:undefined" : tag;
}

/// The same as a Knative before OBSERVABILITY_CONFIG writes it.
[[nodiscard]] constexpr std::string_view older_route_tag(std::string_view route) {
  if (route == "kn:disabled") return "DISABLED";
  if (route == "kn:default") return "DEFAULT";
  return route == "kn:undefined" ? "UNDEFINED" : route;
}

}  // namespace sluice::queue_proxy
