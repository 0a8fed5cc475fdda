#pragma once

#include "common/base/result.h"

#include <string>

namespace sluice::node_agent {

/// The right to change what the journal of one state directory lists: one process at a time has it,
/// until it ends, however it ends (row 31).
class StateLock {
 public:
  enum class Failure : unsigned char {
    held,    ///< another process has it
    failed,  ///< the directory cannot be used
  };

  struct Refusal {
    Failure why = Failure::failed;
    Problem problem;
    std::string holder{};  ///< process id of the holder, as it wrote it; may be empty
  };

  /// Makes the directory if it is missing, for its owner only, and takes the lock.
  [[nodiscard]] static Result<StateLock, Refusal> take(const std::string& directory);

  ~StateLock();
  StateLock(StateLock&& other) noexcept;
  StateLock& operator=(StateLock&&) = delete;
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  explicit StateLock(int descriptor) : descriptor_{descriptor} {}

  int descriptor_;
};

}  // namespace sluice::node_agent
