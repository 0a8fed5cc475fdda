#pragma once

#include "autoscaler/core/decision/decision_record.h"
#include "autoscaler/io/kept_records.h"
#include "common/model/revision.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::autoscaler {

/// The decisions and cold starts of late: what `history` and `explain?at=` are answered from. In
/// memory for a cluster (ring_history.h); a form that restarts its services with it keeps a file.
class History {
 public:
  History() = default;
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  virtual ~History() = default;

  virtual void record(const model::Revision& of, const DecisionRecord& record) = 0;

  /// `event`: the cold_start event of one-machine.md 7.
  virtual void record_cold_start(const model::Revision& of, TimePoint at,
                                 const nlohmann::json& event) = 0;

  /// Decisions since `since` in the shape of protocols.md 5, newest last. This outlives them.
  [[nodiscard]] virtual std::unique_ptr<KeptRecords> decisions(const model::Revision& of,
                                                               TimePoint since) const = 0;

  /// Decisions since `since` that were to be kept and are not: {"from","to","count","reason",
  /// "lasts"} each, with `lasts` for what continues; without "from" and "count" all before "to".
  [[nodiscard]] virtual std::vector<nlohmann::json> not_kept(const model::Revision& of,
                                                             TimePoint since) const = 0;

  /// The decision in force at `at`, with its "inputs"; absent when it was before what is kept.
  [[nodiscard]] virtual std::optional<nlohmann::json> decision_at(const model::Revision& of,
                                                                  TimePoint at) const = 0;

  /// Cold starts in one answer.
  static constexpr std::size_t kColdStartsShown = 100;

  /// The cold_start events since `since`, the newest first, at most kColdStartsShown. This outlives
  /// them.
  [[nodiscard]] virtual std::unique_ptr<KeptRecords> cold_starts(const model::Revision& of,
                                                                 TimePoint since) const = 0;

  /// The newest cold_start event not after `at`.
  [[nodiscard]] virtual std::optional<nlohmann::json> cold_start_at(const model::Revision& of,
                                                                    TimePoint at) const = 0;
};

}  // namespace sluice::autoscaler
