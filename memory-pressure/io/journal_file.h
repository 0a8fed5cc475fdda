#pragma once

#include "common/base/result.h"

#include "memory-pressure/io/journal.h"
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace sluice::node_agent {

/// The journal in `journal` of the state directory. Who writes holds the directory's StateLock
/// (memory-pressure.md 5.7).
class JournalFile final : public Journal {
 public:
  /// Larger than this it is not read: not our file.
  static constexpr std::size_t kReadBytesMax = std::size_t{16} << 20U;

  /// Opens it, and makes it if need be. The problem names the path.
  [[nodiscard]] static Result<JournalFile, Problem> open(const std::string& directory);

  ~JournalFile() override;
  JournalFile(JournalFile&& other) noexcept;
  JournalFile& operator=(JournalFile&&) = delete;
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  [[nodiscard]] Result<std::string, Problem> content() const override;
  [[nodiscard]] std::optional<Problem> append(std::span<const JournalRecord> records) override;
  [[nodiscard]] std::optional<Problem> compact(std::span<const JournalRecord> records) override;

  /// Another process has the file open too: it is only added to from now on, never replaced.
  void share() { shared_ = true; }

  [[nodiscard]] std::size_t size() const override { return size_; }

 private:
  JournalFile(std::string directory, int descriptor, std::size_t size);

  std::string directory_;
  int descriptor_;
  std::size_t size_;
  bool shared_ = false;
  bool torn_ = false;  // the last write failed half-way: begin on a new line
};

/// Names this run of the kernel: no quota outlives it (row 30). Empty when it cannot be read.
[[nodiscard]] std::string boot_id(const std::string& root = {});

}  // namespace sluice::node_agent
