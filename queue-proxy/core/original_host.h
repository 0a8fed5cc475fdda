#pragma once

#include "common/http/message.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::queue_proxy {

/// The proxy before the sidecar, which may name the Host that the container sees by K-Original-Host
/// (queue-proxy.md 15.21); SLUICE_ORIGINAL_HOST.
enum class OriginalHostFrom : std::uint8_t {
  ingress,    ///< Knative's ingress, or an engine on this machine: it comes from no client
  activator,  ///< clients themselves, and at times an activator of ours
};

/// Decides from which peers K-Original-Host is honoured.
class OriginalHostRule {
 public:
  /// `revision` and `space`: the sidecar's own.
  OriginalHostRule(OriginalHostFrom from, std::string_view revision, std::string_view space);

  /// Among clients, an activator is known by what it sends and by the Host under which it addresses
  /// a pod: an IP address, or the private name of the revision. Both can be forged, yet a client
  /// that reaches the sidecar itself may send any Host anyway; and a proxy that lets its clients in
  /// by Host lets none in with an address for one.
  [[nodiscard]] bool trusts(const http::FieldList& fields) const;

 private:
  OriginalHostFrom from_;
  std::string private_host_;
};

}  // namespace sluice::queue_proxy
