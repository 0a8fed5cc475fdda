#pragma once

#include "common/log/log.h"
#include "common/loop/loop.h"

#include "memory-pressure/core/journal_record.h"
#include "memory-pressure/io/freezer.h"
#include "memory-pressure/io/journal.h"
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace sluice::node_agent {

/// Lets containers run on that an agent has left frozen, without the runtime: their records name
/// their control groups.
class Thaw {
 public:
  struct Parts {
    Loop& loop;
    Journal& journal;
    const log::Logger& log;
    Freezer freezer;
    /// Whether those who run may fill the node, so that the next is to wait.
    std::function<bool()> is_tight;
  };

  /// Between two while the node is tight: what wakes together takes its memory together.
  static constexpr Duration kApart = std::chrono::seconds{1};

  /// All parts outlive this.
  explicit Thaw(Parts parts);

  /// Thaws those of `frozen`, records of the journal, in their order. Each has a record of its end,
  /// but who could not be thawed. `done` runs once, perhaps from within.
  void start(std::vector<JournalRecord> frozen, std::function<void()> done);

 private:
  void next();
  void let_go(const JournalRecord& frozen);

  Parts parts_;
  std::unique_ptr<Timer> timer_;
  std::vector<JournalRecord> frozen_;
  std::size_t at_ = 0;
  std::function<void()> done_;
};

}  // namespace sluice::node_agent
