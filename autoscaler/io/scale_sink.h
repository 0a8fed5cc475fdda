#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "common/base/ids.h"

#include <functional>
#include <optional>

namespace sluice::autoscaler {

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

  /// Whether its traffic reaches the activators right now: `done` is told once, later, from the
  /// loop. Asked only of platforms where it may not (WatchedRevision::proxied_since).
  virtual void probe(const RevisionId& revision, std::function<void(bool ok)> done) = 0;
};

}  // namespace sluice::autoscaler
