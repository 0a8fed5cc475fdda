#pragma once

#include "autoscaler/io/decision_ring.h"
#include "autoscaler/io/history.h"
#include "common/base/ids.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <deque>

namespace sluice::autoscaler {

/// The newest decisions and cold starts of all revisions together, in memory; a restart loses
/// them.
class RingHistory final : public History {
 public:
  static constexpr std::size_t kColdStartsMax = 2'000;

  explicit RingHistory(std::size_t decisions_max = DecisionRing::kDecisionsMax,
                       std::size_t cold_starts_max = kColdStartsMax)
      : decisions_{decisions_max}, cold_starts_max_{cold_starts_max} {}

  void record(const model::Revision& of, const DecisionRecord& record) override;
  void record_cold_start(const model::Revision& of, TimePoint at,
                         const nlohmann::json& event) override;
  [[nodiscard]] std::vector<nlohmann::json> decisions(const model::Revision& of,
                                                      TimePoint since) const override;

  /// What is forgotten is older than all that is kept.
  [[nodiscard]] std::vector<nlohmann::json> not_kept(const model::Revision& /*of*/,
                                                     TimePoint /*since*/) const override {
    return {};
  }

  [[nodiscard]] std::optional<nlohmann::json> decision_at(const model::Revision& of,
                                                          TimePoint at) const override;
  [[nodiscard]] std::vector<nlohmann::json> cold_starts(const model::Revision& of,
                                                        TimePoint since) const override;
  [[nodiscard]] std::optional<nlohmann::json> cold_start_at(const model::Revision& of,
                                                            TimePoint at) const override;

 private:
  struct ColdStart {
    RevisionId revision;
    TimePoint at{};
    nlohmann::json event;
  };

  DecisionRing decisions_;
  std::size_t cold_starts_max_;
  std::deque<ColdStart> cold_starts_;  // in order of arrival
};

}  // namespace sluice::autoscaler
