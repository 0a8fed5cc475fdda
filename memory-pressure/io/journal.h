#pragma once

#include "common/base/result.h"

#include "memory-pressure/core/journal_record.h"
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace sluice::node_agent {

/// The write-ahead journal: lines of core/journal_record.h that outlive the process.
class Journal {
 public:
  virtual ~Journal() = default;

  /// Its whole contents.
  [[nodiscard]] virtual Result<std::string, Problem> content() const = 0;

  /// Adds records and returns once they outlive this process. A problem: some may be there, none
  /// need be.
  [[nodiscard]] virtual std::optional<Problem> append(std::span<const JournalRecord> records) = 0;

  /// Replaces everything by these records at once: after a crash it is the old text or the new.
  [[nodiscard]] virtual std::optional<Problem> compact(std::span<const JournalRecord> records) = 0;

  [[nodiscard]] virtual std::size_t size() const = 0;
};

}  // namespace sluice::node_agent
