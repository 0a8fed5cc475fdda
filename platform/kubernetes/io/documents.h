#pragma once

#include "common/base/ids.h"
#include "common/kube/client.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include "platform/kubernetes/core/event_log.h"
#include "platform/kubernetes/core/scaler_conditions.h"
#include "platform/kubernetes/core/service_plan.h"
#include "platform/kubernetes/core/slice_plan.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What we write to the API server, as requests.
namespace sluice::autoscaler {

// --- where objects are ---

[[nodiscard]] std::string scaler_path(const RevisionId& id);

/// Of a Deployment or StatefulSet; empty for any other kind.
[[nodiscard]] std::string workload_path(std::string_view kind, const kube::ObjectName& name);
[[nodiscard]] std::string pod_path(const kube::ObjectName& name);
[[nodiscard]] std::string service_path(const kube::ObjectName& name);
[[nodiscard]] std::string slice_path(const kube::ObjectName& name);

// --- scaling ---

/// Only of the very object that was looked at: one that was deleted and made again is another.
[[nodiscard]] kube::Request scale_request(const std::string& workload, const std::string& uid,
                                          std::int32_t from, std::int32_t to);
[[nodiscard]] kube::Request cost_request(const kube::ObjectName& pod,
                                         std::optional<std::int32_t> cost);

// --- Services and slices ---

/// A scaler whose objects these are.
struct ScalerRef {
  RevisionId id;
  std::string uid;
};

[[nodiscard]] kube::Request apply_pods_request(const ScalerRef& owner, const std::string& name,
                                               const kube::StringMap& selector,
                                               const kube::Service::Port& port);
[[nodiscard]] kube::Request create_front_request(const ScalerRef& owner, const std::string& name,
                                                 const std::vector<kube::Service::Port>& ports);
[[nodiscard]] kube::Request correct_front_request(const kube::ObjectName& name,
                                                  const std::vector<kube::Service::Port>& ports);
[[nodiscard]] kube::Request adopt_front_request(const RevisionId& id, const std::string& name,
                                                const kube::Service& front);
[[nodiscard]] kube::Request restore_front_request(const kube::ObjectName& name,
                                                  const kube::Service& front,
                                                  const OriginalService& original);

/// What the selector of a Service has left behind: its slices, and the older Endpoints object,
/// which would be mirrored into slices.
[[nodiscard]] kube::Request sweep_slices_request(const kube::ObjectName& front);
[[nodiscard]] kube::Request sweep_endpoints_request(const kube::ObjectName& front);
[[nodiscard]] kube::Request finalizer_request(const ScalerRef& scaler, bool there);

/// Labels of the slices of a public Service.
[[nodiscard]] kube::StringMap slice_labels(const RevisionId& id, const std::string& front);
[[nodiscard]] kube::Request apply_slice_request(const ScalerRef& owner, const std::string& front,
                                                const RoutedSlice& slice);
[[nodiscard]] kube::Request remove_request(const std::string& path);

// --- what people see ---

[[nodiscard]] kube::Request status_request(const ScalerRef& scaler, const ScalerStatus& status);

/// `reporter`: this replica.
[[nodiscard]] kube::Request event_request(const ScalerEvent& event, const std::string& reporter);

/// Reads the annotation of an adopted Service; absent: it has none, or it is nonsense.
[[nodiscard]] std::optional<OriginalService> read_original(const kube::Service& front);

}  // namespace sluice::autoscaler
