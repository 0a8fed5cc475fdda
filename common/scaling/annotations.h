#pragma once

#include "common/base/result.h"
#include "common/scaling/cluster_config.h"
#include "common/scaling/scaling_spec.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::autoscaler {

/// The value of an annotation and the spelling of the key it was found under.
struct Annotation {
  std::string key;
  std::string value;
};

/// Finds `autoscaling.knative.dev/<name>` for a dashed `name` such as "min-scale", else its
/// camelCase alias where one exists. The dashed one wins even when its value is the invalid one.
[[nodiscard]] std::optional<Annotation> find_annotation(const StringMap& annotations,
                                                        std::string_view name);

/// Every `autoscaling.knative.dev/` key that has a meaning, in both spellings where there are two.
[[nodiscard]] std::vector<std::string> annotation_keys();

/// Of `annotations`, those that resolve() reads.
[[nodiscard]] StringMap scaling_annotations(const StringMap& annotations);

/// A rejected annotation: the keys at fault, and the message for their author.
struct AnnotationProblem {
  std::vector<std::string> keys;
  Problem problem;
};

/// Settings of ours, beyond the reference; each is off until set (autoscaler.md 16.1).
inline constexpr std::string_view kOurPrefix = "autoscaling.sluice.dev/";
/// Spare burst capacity, in requests, that must be there before the activators leave the path.
inline constexpr std::string_view kBurstHysteresis =
    "autoscaling.sluice.dev/burst-capacity-hysteresis";

/// Everything that is wrong with the scaling annotations of a revision (autoscaler.md 6); empty
/// when they are acceptable. Annotations are compared with each other, never with the cluster's
/// defaults. Under kOurPrefix an unknown key is an error; elsewhere it belongs to another program.
[[nodiscard]] std::vector<AnnotationProblem> check_annotations(const StringMap& annotations,
                                                               const ClusterConfig& config);

/// The parameters of a revision (autoscaler.md 7). Never fails: a value that cannot be read counts
/// as absent, which is why check_annotations comes first. `container_concurrency` 0 means no limit.
[[nodiscard]] ScalingSpec resolve(const ClusterConfig& config, const StringMap& annotations,
                                  std::int64_t container_concurrency, Reachability reachability);

/// Who scales an object: its class annotation (absent or empty: none), the class the cluster gives
/// to objects without one, and whether Knative's own autoscaler runs there.
struct ClassView {
  std::string_view annotated;
  std::string_view cluster_default = kKnativeClass;
  bool knative_autoscaler_runs = false;
};

/// Whether an object is ours (autoscaler.md 16.4): it names our class, or it names none, no other
/// autoscaler runs and the cluster's default is not another's. Beside Knative only the name counts.
[[nodiscard]] bool owns(const ClassView& view);

}  // namespace sluice::autoscaler
