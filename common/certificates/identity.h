#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::certificates {

/// What a certificate lets its holder do on the streams between our programs.
enum class Role : std::uint8_t { autoscaler, activator, node_agent };

/// The roles of a certificate's holder, from its URIs. One certificate may carry several roles.
struct Identity {
  bool autoscaler = false;
  bool activator = false;
  std::string node{};  ///< an agent of this node; empty: of none

  [[nodiscard]] bool has(Role role) const;

  /// Everything it is, for logs: `activator`, `node agent of n1`, `an unknown program`.
  [[nodiscard]] std::string shown() const;

  friend bool operator==(const Identity&, const Identity&) = default;
};

/// Reads `sluice://autoscaler`, `sluice://activator` and `sluice://node-agent/<node>`; other URIs
/// are ignored. Two nodes in one certificate count as none.
[[nodiscard]] Identity identity_of(std::span<const std::string> uris);

/// The URI that gives its holder the role. `node`: of a node agent only.
[[nodiscard]] std::string uri_of(Role role, const std::string& node = {});

/// Whether it is the name of a node, as Kubernetes writes one.
[[nodiscard]] bool is_node_name(std::string_view name);

}  // namespace sluice::certificates
