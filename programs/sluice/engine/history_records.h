#pragma once

#include "autoscaler/io/kept_records.h"
#include "common/time/time_point.h"

#include "programs/sluice/engine/database.h"
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::local {

/// What a row of the history is; the numbers are those in its file.
enum class RowKind : int { decision = 1, cold_start = 2, gap = 3 };

/// Which rows are asked for.
struct RowsAsked {
  RowKind kind = RowKind::decision;
  std::string service;
  TimePoint since{};
  std::size_t most = 0;  ///< the newest ones
  bool newest_first = false;
};

/// Rows of the history's file, over a connection that is theirs.
class HistoryRecords final : public autoscaler::KeptRecords {
 public:
  HistoryRecords(const std::filesystem::path& file, const RowsAsked& asked);

  [[nodiscard]] bool find() override;

  [[nodiscard]] std::size_t count() const override { return ids_.size(); }

  /// A row whose text is damaged cannot be read.
  void write(std::string& out, std::size_t place) override;

 private:
  std::filesystem::path file_;
  RowsAsked asked_;
  Database db_;
  Statement find_;
  Statement read_;
  std::vector<std::int64_t> ids_;
};

}  // namespace sluice::local
