#pragma once

#include "autoscaler/io/platform.h"

namespace sluice::autoscaler::testing {

/// A platform that has as many replicas as it was ordered, or as another writer set.
class FakePlatform final : public Platform {
 public:
  [[nodiscard]] std::optional<Problem> open(model::Listener& /*listener*/, TimePoint /*now*/,
                                            Settled /*settled*/) override {
    return std::nullopt;
  }

  [[nodiscard]] std::optional<ScaleOrder> last(const RevisionId& /*revision*/) override {
    if (!replicas) return std::nullopt;
    return ScaleOrder{.replicas = *replicas};
  }

  void apply(const RevisionId& /*revision*/, const ScaleOrder& order) override { applied = order; }

  void forget(const RevisionId& /*revision*/) override {}

  void probe(const RevisionId& /*revision*/, std::function<void(bool ok)> /*done*/) override {}

  [[nodiscard]] std::vector<std::string> wrong() const override { return {}; }

  [[nodiscard]] std::vector<HealthCheck> checks() const override { return {}; }

  std::optional<std::int32_t> replicas = 0;  ///< absent: nothing was ever ordered
  ScaleOrder applied;
};

}  // namespace sluice::autoscaler::testing
