#include "memory-pressure/core/floors.h"

#include <algorithm>

namespace sluice::node_agent {
namespace {

constexpr std::int64_t kBatchFloor = 1;
constexpr std::int64_t kExecProbeFloor = 50;
constexpr std::int64_t kServingFloor = 100;
constexpr std::int64_t kRaisedMost = 500;
constexpr std::size_t kOwnersMax = 4096;

}  // namespace

bool is_batch(const Container& container) {
  const Marks& marks = container.marks;
  return (marks.batch || marks.job) && !marks.serves && !marks.exec_probe;
}

std::string owner(const Container& container) {
  return container.pod_namespace + '/' + container.pod + '/' + container.name;
}

std::int64_t Floors::floor(const Container& container) const {
  std::int64_t least = is_batch(container) ? kBatchFloor : quota_;
  if (container.marks.exec_probe) least = std::max(least, kExecProbeFloor);
  if (container.marks.serves) least = std::max(least, kServingFloor);
  if (raised_.empty()) return least;
  const auto found = raised_.find(owner(container));
  return found == raised_.end() ? least : std::max(least, found->second);
}

void Floors::raise(const Container& container) {
  const std::int64_t doubled = std::min(floor(container) * 2, kRaisedMost);
  if (raised_.size() >= kOwnersMax) raised_.clear();
  raised_[owner(container)] = std::max(doubled, floor(container));
}

}  // namespace sluice::node_agent
