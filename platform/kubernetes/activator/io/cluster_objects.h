#pragma once

#include "common/files/revision_file.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include "platform/kubernetes/activator/core/cluster_revision.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

// Between the objects of an API server and what the activator keeps of them; no I/O in here.
namespace sluice::activator {

/// The private service of a RequestScaler (protocols.md 8).
inline constexpr std::string_view kPrivateLabel = "sluice.dev/service-type=private";

/// The private services of Knative's revisions, and their slices (activator.md 6.1).
inline constexpr std::string_view kKnativePrivateLabels =
    "networking.internal.knative.dev/serviceType=Private,serving.knative.dev/revision";

/// The slices of the activators: ours, and as a drop-in Knative's.
inline constexpr std::string_view kActivatorLabels =
    "kubernetes.io/service-name in (activator,activator-service)";

/// Limits of a revision, whatever is in its object.
inline constexpr std::int32_t kTimeoutSecondsMost = 7 * 86'400;
inline constexpr std::int32_t kConcurrencyMost = 1'000'000;

[[nodiscard]] ServingSpec spec_of(const kube::ObjectName& name, const kube::RequestScaler& scaler);

[[nodiscard]] ClusterPod pod_of(kube::Pod pod);

/// A private Service, of a RequestScaler or of Knative's; absent: it has no address, or no owner.
[[nodiscard]] std::optional<PrivateService> private_service_of(const kube::ObjectName& name,
                                                               const kube::Service& service);

/// Absent: it has no owner.
[[nodiscard]] std::optional<PodSelection> selection_of(const kube::ObjectName& name,
                                                       const kube::Service& service);

/// The slices of the public services of RequestScalers, which the controller writes.
inline constexpr std::string_view kPublicLabels =
    "endpointslice.kubernetes.io/managed-by=sluice.dev,sluice.dev/scaler";

/// Those of Knative's revisions.
inline constexpr std::string_view kKnativePublicLabels =
    "networking.internal.knative.dev/serviceType=Public,serving.knative.dev/revision";

[[nodiscard]] ClusterSlice slice_of(const kube::ObjectName& name, const kube::EndpointSlice& slice);

/// A revision of Knative's as JSON; absent: it is none.
[[nodiscard]] std::optional<ServingSpec> decode_knative_revision(std::string_view json);

/// As the rest of the activator reads it.
[[nodiscard]] model::Revision file_of(ClusterRevision revision);

[[nodiscard]] std::vector<net::Address> addresses_of(const std::vector<ClusterAddress>& addresses);

}  // namespace sluice::activator
