#pragma once

#include "common/kube/objects.h"
#include "common/model/revision.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// Whether its containers may run still, or ever.
[[nodiscard]] bool lives(const kube::Pod& pod);

/// Whether the Deployment or StatefulSet of that name made the pod, or no controller did: labels
/// alone may also be another's.
[[nodiscard]] bool made_by(const kube::Pod& pod, std::string_view kind, const std::string& name);

/// Absent where one of the two is not known.
[[nodiscard]] std::optional<net::Address> dialled(const std::string& ip, std::uint16_t port);

/// The pod as the scaler uses it, with a sidecar that serves at `port`; 0: it has none.
[[nodiscard]] model::Pod watched_pod(const std::string& name, const kube::Pod& pod,
                                     std::uint16_t port);

}  // namespace sluice::autoscaler
