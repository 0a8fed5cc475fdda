#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "autoscaler/io/health_check.h"
#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/metrics/families.h"
#include "common/model/revision.h"
#include "common/time/time_point.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Where replicas run: the engine's one way to the world (architecture.md 4). A platform reports
/// what exists to a model::Listener, and makes it what was decided.
class Platform {
 public:
  /// A problem: what the platform reports cannot be worked with, and the program ends.
  using Settled = std::function<void(std::optional<Problem>)>;

  virtual ~Platform() = default;

  /// Begins to report to `listener`, which outlives this: the configuration first. `settled` is
  /// called once, from the loop at the earliest, when everything that exists has been reported, or
  /// has been waited for long enough. A problem: there is nothing to begin with.
  [[nodiscard]] virtual std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                                    Settled settled) = 0;

  /// What was ordered last, before a restart too; absent: nothing ever was.
  [[nodiscard]] virtual std::optional<ScaleOrder> last(const RevisionId& revision) = 0;

  /// Full desired state; idempotent. An order that cannot be carried out now is carried out with
  /// the next call.
  virtual void apply(const RevisionId& revision, const ScaleOrder& order) = 0;

  /// The revision is gone.
  virtual void forget(const RevisionId& revision) = 0;

  /// Whether the revision's traffic reaches the activators right now: `done` is called once, later,
  /// from the loop. Asked only where it may not (model::Revision::proxied_since).
  virtual void probe(const RevisionId& revision, std::function<void(bool ok)> done) = 0;

  /// Objects that are wrong now and change nothing, for health pages.
  [[nodiscard]] virtual std::vector<std::string> wrong() const = 0;

  [[nodiscard]] virtual std::vector<HealthCheck> checks() const = 0;

  /// What it counts.
  virtual void write_metrics(metrics::Families& /*families*/) const {}
};

}  // namespace sluice::autoscaler
