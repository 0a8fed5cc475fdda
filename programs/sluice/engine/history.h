#pragma once

#include "autoscaler/io/history.h"
#include "common/base/result.h"
#include "common/time/time_point.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::local {

/// The bounds of a History (one-machine.md 7).
struct HistoryOptions {
  std::filesystem::path file;
  Duration age_max = std::chrono::hours{24 * 7};
  std::int64_t bytes_max = std::int64_t{64} << 20;
  std::size_t queue_max = 4096;  ///< rows waiting for the disk; more are dropped and counted
  TimePoint opened = {};         ///< when it is opened
};

/// What an engine decided and how its cold starts went, in a SQLite file that keeps the newest.
///
/// A file that is no database is renamed, with one warning, and a new one is begun, which has since
/// when that is.
///
/// Writing never waits: rows go through a bounded queue to one thread. A disk that is full or
/// read-only costs one warning and the rows, nothing else; what was lost is remembered, in the file
/// once that works again. Reading happens on the caller's thread over a connection of its own and
/// sees rows once they are written (a few milliseconds later).
class History final : public autoscaler::History {
 public:
  /// `warn` is called on the writer's thread, of a failure once until writing has worked again:
  /// post it to the loop.
  using Warn = std::function<void(const Problem&)>;

  History(const HistoryOptions& options, Warn warn);

  /// Writes what is queued, then closes.
  ~History() override;
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void record(const model::Revision& of, const autoscaler::DecisionRecord& record) override;
  void record_cold_start(const model::Revision& of, TimePoint at,
                         const nlohmann::json& event) override;
  [[nodiscard]] std::unique_ptr<autoscaler::KeptRecords> decisions(const model::Revision& of,
                                                                   TimePoint since) const override;
  [[nodiscard]] std::vector<nlohmann::json> not_kept(const model::Revision& of,
                                                     TimePoint since) const override;
  [[nodiscard]] std::optional<nlohmann::json> decision_at(const model::Revision& of,
                                                          TimePoint at) const override;
  [[nodiscard]] std::unique_ptr<autoscaler::KeptRecords> cold_starts(
      const model::Revision& of, TimePoint since) const override;
  [[nodiscard]] std::optional<nlohmann::json> cold_start_at(const model::Revision& of,
                                                            TimePoint at) const override;

  /// Keeps one decision in the shape of protocols.md 5.
  void record_decision(std::string_view service, TimePoint at, const nlohmann::json& decision);

  /// Keeps one cold_start event (one-machine.md 7).
  void record_cold_start(std::string_view service, TimePoint at, const nlohmann::json& cold_start);

  /// Decisions of `service` from `since` on, oldest first; the newest `limit` of them.
  [[nodiscard]] std::unique_ptr<autoscaler::KeptRecords> decisions(std::string_view service,
                                                                   TimePoint since,
                                                                   std::size_t limit = 1000) const;

  /// Decisions of `service` from `since` on that were lost, as autoscaler::History::not_kept has
  /// them.
  [[nodiscard]] std::vector<nlohmann::json> not_kept(std::string_view service,
                                                     TimePoint since) const;

  /// The newest decision not after `at`.
  [[nodiscard]] std::optional<nlohmann::json> decision_at(std::string_view service,
                                                          TimePoint at) const;

  /// The newest cold start not after `at`.
  [[nodiscard]] std::optional<nlohmann::json> cold_start_at(std::string_view service,
                                                            TimePoint at) const;

  /// Rows lost so far: queue full, or the disk refused them. Safe from any thread.
  [[nodiscard]] std::uint64_t dropped() const;

  /// Waits until everything recorded before is written or dropped; false after `timeout`.
  [[nodiscard]] bool flush(Duration timeout) const;

 private:
  class Writer;
  class Reader;

  std::unique_ptr<Writer> writer_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace sluice::local
