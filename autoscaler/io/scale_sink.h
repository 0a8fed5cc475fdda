#pragma once

#include "common/base/ids.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// How many replicas of a revision should run: full desired state.
struct ScaleOrder {
  std::int32_t replicas = 0;  ///< that should live
  std::vector<PodId> remove;  ///< may be stopped now, idlest first

  friend bool operator==(const ScaleOrder&, const ScaleOrder&) = default;
};

/// Whoever makes the platform run what was decided (architecture.md 4).
class ScaleSink {
 public:
  virtual ~ScaleSink() = default;

  /// What was ordered last, by an earlier life too; absent: nothing ever was.
  [[nodiscard]] virtual std::optional<ScaleOrder> last(const RevisionId& revision) = 0;

  /// Idempotent; an order that could not be given is given with the next call.
  virtual void apply(const RevisionId& revision, const ScaleOrder& order) = 0;

  /// The revision is no more.
  virtual void forget(const RevisionId& revision) = 0;
};

}  // namespace sluice::autoscaler
