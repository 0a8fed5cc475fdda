#pragma once

#include "memory-pressure/core/policy.h"
#include "memory-pressure/core/settings.h"
#include <memory>

namespace sluice::node_agent {

/// Touches nothing and refuses nothing; says how full the node is.
class OffPolicy final : public Policy {
 public:
  explicit OffPolicy(const PolicySettings& settings) : settings_(settings) {}

  [[nodiscard]] Decision decide(const Observation& seen) override;

 private:
  PolicySettings settings_;
};

/// The policy that `settings` name. They have passed `check`.
[[nodiscard]] std::unique_ptr<Policy> make_policy(const PolicySettings& settings);

}  // namespace sluice::node_agent
