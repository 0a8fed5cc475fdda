#include "platform/kubernetes/core/work_queue.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

// 2^9 * 100 ms is more than the longest wait.
constexpr int kDoublingsMax = 9;

}  // namespace

void WorkQueue::add(const RevisionId& key, TimePoint at) {
  const auto [known, added] = due_.try_emplace(key, at);
  if (!added) {
    if (known->second <= at) return;
    order_.erase({known->second, key});
    known->second = at;
  }
  order_.emplace(at, key);
}

void WorkQueue::failed(const RevisionId& key, TimePoint now) {
  int& failures = failures_[key];
  const Duration wait = std::min(kWaitMost, kWaitLeast * (1 << failures));
  failures = std::min(failures + 1, kDoublingsMax);
  add(key, now + wait);
}

void WorkQueue::forget(const RevisionId& key) {
  failures_.erase(key);
  const auto known = due_.find(key);
  if (known == due_.end()) return;
  order_.erase({known->second, key});
  due_.erase(known);
}

std::vector<RevisionId> WorkQueue::take(TimePoint now, std::size_t most) {
  std::vector<RevisionId> taken;
  while (taken.size() < most && !order_.empty() && order_.begin()->first <= now) {
    taken.push_back(order_.begin()->second);
    order_.erase(order_.begin());
    due_.erase(taken.back());
  }
  return taken;
}

std::optional<TimePoint> WorkQueue::next_due() const {
  if (order_.empty()) return std::nullopt;
  return order_.begin()->first;
}

}  // namespace sluice::autoscaler
