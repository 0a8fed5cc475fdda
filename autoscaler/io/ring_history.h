#pragma once

#include "autoscaler/io/decision_json.h"
#include "autoscaler/io/history.h"
#include "autoscaler/io/numbered_ring.h"
#include "common/base/ids.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// The newest decisions and cold starts of all revisions together, in memory; a restart loses
/// them.
class RingHistory final : public History {
 public:
  static constexpr std::size_t kDecisionsMax = 20'000;
  static constexpr std::size_t kColdStartsMax = 2'000;

  explicit RingHistory(std::size_t decisions_max = kDecisionsMax,
                       std::size_t cold_starts_max = kColdStartsMax)
      : decisions_{decisions_max}, cold_starts_{cold_starts_max} {}

  void record(const model::Revision& of, const DecisionRecord& record) override;
  void record_cold_start(const model::Revision& of, TimePoint at,
                         const nlohmann::json& event) override;
  [[nodiscard]] std::unique_ptr<KeptRecords> decisions(const model::Revision& of,
                                                       TimePoint since) const override;

  /// What is forgotten is older than all that is kept.
  [[nodiscard]] std::vector<nlohmann::json> not_kept(const model::Revision& /*of*/,
                                                     TimePoint /*since*/) const override {
    return {};
  }

  [[nodiscard]] std::optional<nlohmann::json> decision_at(const model::Revision& of,
                                                          TimePoint at) const override;
  [[nodiscard]] std::unique_ptr<KeptRecords> cold_starts(const model::Revision& of,
                                                         TimePoint since) const override;
  [[nodiscard]] std::optional<nlohmann::json> cold_start_at(const model::Revision& of,
                                                            TimePoint at) const override;

 private:
  struct Decision {
    RevisionId revision;
    DecisionRecord record;

    [[nodiscard]] TimePoint at() const { return record.time; }

    [[nodiscard]] nlohmann::json shown(const About& of) const;
  };

  struct ColdStart {
    RevisionId revision;
    TimePoint time{};
    nlohmann::json event;

    [[nodiscard]] TimePoint at() const { return time; }

    [[nodiscard]] nlohmann::json shown(const About& /*of*/) const { return event; }
  };

  template <class Entry>
  class Records;
  template <class Entry>
  [[nodiscard]] static const Entry* newest(const NumberedRing<Entry>& ring, const RevisionId& of,
                                           TimePoint at);

  // In order of arrival, which is that of their times.
  NumberedRing<Decision> decisions_;
  NumberedRing<ColdStart> cold_starts_;
};

}  // namespace sluice::autoscaler
