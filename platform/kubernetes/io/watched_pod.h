#pragma once

#include "autoscaler/io/pod_watch.h"
#include "common/kube/objects.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::autoscaler {

/// Whether its containers may run still, or ever.
[[nodiscard]] bool lives(const kube::Pod& pod);

/// Whether the Deployment or StatefulSet of that name made the pod, or nobody did: labels alone may
/// be another's as well.
[[nodiscard]] bool made_by(const kube::Pod& pod, std::string_view kind, const std::string& name);

/// `ip:port`; empty where one of the two is not known.
[[nodiscard]] std::string dialled(const std::string& ip, std::uint16_t port);

/// The pod as whoever scales knows it, with a sidecar that serves at `port`; 0: it has none.
[[nodiscard]] WatchedPod watched_pod(const std::string& name, const kube::Pod& pod,
                                     std::uint16_t port);

}  // namespace sluice::autoscaler
