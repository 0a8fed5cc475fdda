#pragma once

#include "common/base/ids.h"
#include "common/kube/objects.h"
#include "common/kube/request_scaler.h"

#include "platform/kubernetes/core/trouble.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

inline constexpr std::string_view kFinalizer = "sluice.dev/service";
inline constexpr std::string_view kOriginalService = "sluice.dev/original-service";

/// What an adopted Service was before, as its annotation keeps it.
struct OriginalService {
  struct TargetPort {
    std::string name;
    std::uint16_t port = 0;
    std::string target;

    friend bool operator==(const TargetPort&, const TargetPort&) = default;
  };

  std::string scaler;  ///< the scaler that adopted it
  kube::StringMap selector;
  std::vector<TargetPort> ports;

  friend bool operator==(const OriginalService&, const OriginalService&) = default;
};

/// Everything that decides how a Service reaches us (protocols.md 8).
struct ServiceView {
  RevisionId id;
  const kube::RequestScaler* scaler = nullptr;
  const kube::Workload* workload = nullptr;  ///< null: there is none
  const kube::Service* front = nullptr;      ///< the public one; null: there is none
  const kube::Service* pods = nullptr;       ///< the private one; null: there is none
  std::optional<OriginalService> original;   ///< its state before adoption, from the public one
  std::optional<RevisionId> rival;           ///< another scaler that claimed it before
  std::int32_t injected_ready = 0;           ///< ready pods that have a sidecar
  bool has_slices = false;                   ///< of ours
  bool slices_stand = false;                 ///< as they should
  bool left_behind = false;                  ///< another Service is still to be given back
};

/// Steps are idempotent, and those that depend on another wait until that one shows.
enum class ServiceStep : std::uint8_t {
  apply_pods,       ///< create or correct the private Service
  create_front,     ///< the public Service, ours
  correct_front,    ///< ports of a public Service that is ours
  add_finalizer,    ///< before anything that deletion must put back
  adopt_front,      ///< its selector goes to the annotation
  sweep_leftovers,  ///< endpoints that the selector has left behind
  restore_front,    ///< the selector comes back
  remove_finalizer,
};

struct ServicePlan {
  std::vector<ServiceStep> steps;
  std::optional<Trouble> trouble;
  bool routes = false;     ///< slices of ours belong to the public Service
  bool adopted = false;    ///< it had a selector before
  bool passed_by = false;  ///< requests reach the pods without us
};

/// Something may have to be put back when it is deleted.
[[nodiscard]] bool has_finalizer(const kube::RequestScaler& scaler);

[[nodiscard]] ServicePlan plan_service(const ServiceView& view);

/// Name of the public Service.
[[nodiscard]] std::string front_name(const RevisionId& id, const kube::RequestScaler& scaler);

/// `<name>-private`, shortened with a hash past 63 characters.
[[nodiscard]] std::string pods_name(const RevisionId& id);

/// The ports of a public Service that we make.
[[nodiscard]] std::vector<kube::Service::Port> front_ports(const kube::RequestScaler& scaler,
                                                           const kube::Workload& workload);

/// What the private Service selects: the target's pods that have a sidecar.
[[nodiscard]] kube::StringMap pods_selector(const kube::Workload& workload);

/// The one port of the private Service.
[[nodiscard]] kube::Service::Port pods_port(const kube::RequestScaler& scaler);

}  // namespace sluice::autoscaler
