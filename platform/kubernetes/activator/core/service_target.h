#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::activator {

/// A port of a Service, as the cluster's DNS names it.
struct ServiceTarget {
  std::string service;
  std::string space;
  std::string host;  ///< both and what follows them: the name a certificate carries
  std::uint16_t port = 0;

  friend bool operator==(const ServiceTarget&, const ServiceTarget&) = default;
};

/// `<service>.<namespace>.svc[.<domain>]:<port>` taken apart; absent: it is no such name.
[[nodiscard]] std::optional<ServiceTarget> service_target(std::string_view target);

}  // namespace sluice::activator
