#pragma once

#include "injector/patch/pod_patch.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::injector {

/// What an API server is answered.
struct AdmissionAnswer {
  /// For the metrics; `garbled`: what came is no AdmissionReview.
  enum class Result : std::uint8_t { patched, skipped, refused, allowed, garbled };

  int status = 200;  ///< of HTTP
  std::string body;  ///< JSON with 200, a line of text otherwise
  Result result = Result::garbled;
  std::string about;  ///< namespace/name of the pod, and the reason; for the log
};

/// The settings of a RequestScaler of a namespace for a workload; nothing when none targets it.
using ScalerLookup =
    std::function<std::optional<ScalerFacts>(const std::string& space, const OwnerName& target)>;

/// Answers an AdmissionReview (admission.k8s.io/v1) about the creation of a pod. A pod that cannot
/// be injected is refused if it was meant, by its own label or by a RequestScaler for its workload;
/// one that merely lives in an injected namespace is let through as it is, with a warning.
[[nodiscard]] AdmissionAnswer answer_mutation(std::string_view review, const ScalerLookup& scalers,
                                              const InjectionSettings& settings);

/// The other scaler of the same target, if there is one; the names are those of scalers.
using RivalLookup = std::function<std::string(const std::string& space, const OwnerName& target,
                                              const std::string& scaler)>;

/// Answers one about a RequestScaler: what its schema cannot check, since it lies in an annotation,
/// between one and a spec key, or between two objects. One that is changed is refused for what is
/// newly wrong, and warned of what was wrong before.
[[nodiscard]] AdmissionAnswer answer_validation(std::string_view review, const RivalLookup& rivals);

}  // namespace sluice::injector
