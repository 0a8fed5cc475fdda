#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "autoscaler/io/pod_watch.h"
#include "autoscaler/io/scale_sink.h"
#include "autoscaler/io/stat_source.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sluice::simulation {

/// A revision's file, as the autoscaler reads it.
[[nodiscard]] autoscaler::WatchedRevision watched(const ActivatorsWorld& world,
                                                  const Platform& platform, std::size_t revision);

/// Writes the scale files.
class SimulatedSink final : public autoscaler::ScaleSink {
 public:
  /// Called before an order is written that differs from the one before, if there is one.
  using Ordered = std::function<void(std::size_t revision, const std::optional<ScaleLine>& before,
                                     const ScaleLine& now)>;

  /// `platform` outlives this.
  SimulatedSink(Platform& platform, Ordered ordered)
      : platform_(platform), ordered_(std::move(ordered)) {}

  [[nodiscard]] std::optional<autoscaler::ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

 private:
  Platform& platform_;
  Ordered ordered_;
};

/// Asks the sidecars of simulated pods. A question that is lost is answered by a timeout.
class SimulatedStats final : public autoscaler::StatSource {
 public:
  /// Both outlive this.
  SimulatedStats(Scene& scene, Platform& platform) : scene_(scene), platform_(platform) {}

  [[nodiscard]] std::unique_ptr<Question> ask(const std::string& address,
                                              Answered answered) override;

 private:
  Scene& scene_;
  Platform& platform_;
};

}  // namespace sluice::simulation
