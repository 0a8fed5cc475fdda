#pragma once

#include "autoscaler/io/health_page.h"
#include "autoscaler/io/pod_watch.h"
#include "autoscaler/io/scale_sink.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::autoscaler {

/// Where replicas run: the pair of faces that the autoscaler sees (architecture.md 4), and how the
/// program starts and shows it.
class Platform {
 public:
  /// A problem: what it says cannot be worked with, and the program ends.
  using Settled = std::function<void(std::optional<Problem>)>;

  virtual ~Platform() = default;
  [[nodiscard]] virtual PodWatch& pods() = 0;
  [[nodiscard]] virtual ScaleSink& sink() = 0;

  /// Begins to tell `listener`, which outlives this. `settled` is called once, from the loop at the
  /// earliest, when everything there is has been told, or has been waited for long enough. A
  /// problem: there is nothing to begin with.
  [[nodiscard]] virtual std::optional<Problem> open(PodWatchListener& listener, TimePoint now,
                                                    Settled settled) = 0;

  [[nodiscard]] virtual std::vector<HealthCheck> checks() const = 0;
  virtual void write_metrics(std::string& out) const = 0;
};

}  // namespace sluice::autoscaler
