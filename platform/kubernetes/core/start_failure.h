#pragma once

#include "common/kube/objects.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// Starts of a container that must have failed before its pod counts as failing, unless kubelet
/// shows CrashLoopBackOff earlier.
inline constexpr std::int64_t kFailedStartsLeast = 3;

/// Most bytes of an image's name in the sentence; longer ones are cut.
inline constexpr std::size_t kImageBytesMax = 256;

/// Why the pod cannot become ready as it is, as one printable sentence without its full stop: an
/// image that cannot be pulled, a container that cannot be created or run, or one that ends again
/// and again before it is ready. Absent: the pod is ready, or may still become ready (it is not
/// scheduled yet, pulls, is being created, starts slowly, or starts again after it was ready).
/// The sentence stays the same from one try to the next, and holds nothing of kubelet's messages,
/// which may name registries' answers and secrets.
[[nodiscard]] std::optional<std::string> start_failure(const kube::Pod& pod);

}  // namespace sluice::autoscaler
