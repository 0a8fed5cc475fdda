#pragma once

#include "autoscaler/core/decision/scale_order.h"
#include "autoscaler/io/platform.h"
#include "autoscaler/io/stat_source.h"
#include "common/model/revision.h"
#include "tests/simulation/activators_platform.h"
#include "tests/simulation/activators_scene.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {

/// A revision's file, as the autoscaler reads it.
[[nodiscard]] model::Revision revision_file(const ActivatorsWorld& world, const Platform& platform,
                                            std::size_t revision);

/// The engine's way to the platform: it writes the scale files. The files of revisions
/// are read where it is opened.
class SimulatedPlatform final : public autoscaler::Platform {
 public:
  /// Called before an order is written that differs from the one before, if there is one.
  using Ordered = std::function<void(std::size_t revision, const std::optional<ScaleLine>& before,
                                     const ScaleLine& now)>;

  /// `files` outlives this.
  SimulatedPlatform(simulation::Platform& files, Ordered ordered)
      : files_(files), ordered_(std::move(ordered)) {}

  [[nodiscard]] std::optional<Problem> open(model::Listener& listener, TimePoint now,
                                            Settled settled) override;
  [[nodiscard]] std::optional<autoscaler::ScaleOrder> last(const RevisionId& revision) override;
  void apply(const RevisionId& revision, const autoscaler::ScaleOrder& order) override;
  void forget(const RevisionId& revision) override;
  void probe(const RevisionId& revision, std::function<void(bool ok)> done) override;

  [[nodiscard]] std::vector<std::string> wrong() const override { return {}; }

  [[nodiscard]] std::vector<autoscaler::HealthCheck> checks() const override { return {}; }

 private:
  simulation::Platform& files_;
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
