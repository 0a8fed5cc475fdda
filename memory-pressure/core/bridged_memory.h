#pragma once

#include "memory-pressure/core/node.h"
#include <optional>
#include <utility>

namespace sluice::node_agent {

/// Readings of memory: one that failed is bridged with the value before it, a second is blindness.
class BridgedMemory {
 public:
  std::optional<NodeMemory> take(const std::optional<NodeMemory>& read) {
    if (!read && std::exchange(missed_, true)) return std::nullopt;
    if (read) {
      last_ = read;
      missed_ = false;
    }
    return last_;
  }

 private:
  std::optional<NodeMemory> last_;
  bool missed_ = false;
};

}  // namespace sluice::node_agent
