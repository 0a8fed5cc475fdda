#pragma once

#include "common/kube/objects.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace sluice::autoscaler {

/// Endpoints in one EndpointSlice, at most (api-server.md 1).
inline constexpr std::size_t kSliceEndpointsMax = 100;

/// One that takes requests.
struct RoutedEndpoint {
  std::string address;  ///< IP
  std::string pod{};    ///< its name; empty: no pod of the scaler's namespace
  std::string node{};

  friend auto operator<=>(const RoutedEndpoint&, const RoutedEndpoint&) = default;
};

/// Endpoints that are reached by the same ports.
struct EndpointGroup {
  std::vector<kube::EndpointSlice::Port> ports;
  std::vector<RoutedEndpoint> endpoints;
};

/// An EndpointSlice as it should be.
struct RoutedSlice {
  std::string name;
  std::string address_type;  ///< "IPv4" or "IPv6"
  std::vector<kube::EndpointSlice::Port> ports;
  std::vector<RoutedEndpoint> endpoints;  ///< by address

  friend bool operator==(const RoutedSlice&, const RoutedSlice&) = default;
};

struct SlicePlan {
  std::vector<RoutedSlice> wanted;  ///< all of them
  std::vector<RoutedSlice> write;   ///< those that are missing or differ
  std::vector<std::string> remove;  ///< once everything is written

  [[nodiscard]] bool settled() const { return write.empty() && remove.empty(); }

  /// Whether the slice of that name is to be written or removed.
  [[nodiscard]] bool changes(const std::string& name) const;
};

/// Which slices a Service has.
struct SliceView {
  std::string prefix;  ///< of their names
  std::vector<EndpointGroup> groups;
  std::vector<std::pair<std::string, const kube::EndpointSlice*>> present;  ///< ours, by name
  kube::StringMap labels;  ///< that each must carry
};

/// Deals endpoints out to slices. An endpoint stays where it is, and slices that have room are
/// filled before there is a new one, so what changes for one pod rewrites one slice. Addresses that
/// are no IP are left out, the same address within a group counts once.
[[nodiscard]] SlicePlan plan_slices(const SliceView& view);

}  // namespace sluice::autoscaler
