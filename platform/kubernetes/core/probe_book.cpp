#include "platform/kubernetes/core/probe_book.h"

#include <algorithm>

namespace sluice::autoscaler {
namespace {

// 2^6 * 100 ms is more than the longest wait.
constexpr int kDoublingsMax = 6;

}  // namespace

void ProbeBook::open(const Target& target, TimePoint now, bool proven) {
  if (lines_.try_emplace(target, Line{.proven = proven}).second) due_.emplace(now, target);
}

void ProbeBook::set_port(const RevisionId& id, std::uint16_t port, TimePoint now,
                         const std::set<std::string>& standing) {
  const auto known = ports_.find(id);
  if (known != ports_.end() && known->second == port) return;
  forget(id);
  ports_.emplace(id, port);
  for (const std::string& address : activators_) {
    open({id, port, address}, now, standing.contains(address));
  }
}

void ProbeBook::forget(const RevisionId& id) {
  if (ports_.erase(id) == 0) return;
  const auto first = lines_.lower_bound(Target{id, 0, ""});
  auto last = first;
  while (last != lines_.end() && last->first.id == id) ++last;
  lines_.erase(first, last);
  std::erase_if(due_, [&id](const auto& each) { return each.second.id == id; });
}

bool ProbeBook::set_activators(std::set<std::string> addresses, TimePoint now) {
  if (addresses == activators_) return false;
  activators_ = std::move(addresses);
  std::erase_if(lines_,
                [this](const auto& each) { return !activators_.contains(each.first.address); });
  std::erase_if(due_,
                [this](const auto& each) { return !activators_.contains(each.second.address); });
  for (const auto& [id, port] : ports_) {
    for (const std::string& address : activators_) open({id, port, address}, now);
  }
  return true;
}

std::vector<ProbeBook::Target> ProbeBook::take(TimePoint now, std::size_t most) {
  std::vector<Target> taken;
  while (taken.size() < most && !due_.empty() && due_.begin()->first <= now) {
    taken.push_back(due_.begin()->second);
    due_.erase(due_.begin());
  }
  return taken;
}

bool ProbeBook::answered(const Target& target, bool ok, TimePoint now) {
  const auto line = lines_.find(target);
  if (line == lines_.end()) return false;
  if (ok) return !std::exchange(line->second.proven, true);
  const Duration wait = std::min(kWaitMost, kWaitLeast * (1 << line->second.failures));
  line->second.failures = std::min(line->second.failures + 1, kDoublingsMax);
  due_.emplace(now + wait, target);
  return std::exchange(line->second.proven, false);
}

std::optional<TimePoint> ProbeBook::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

std::vector<std::string> ProbeBook::proven(const RevisionId& id) const {
  std::vector<std::string> addresses;
  for (auto line = lines_.lower_bound(Target{id, 0, ""});
       line != lines_.end() && line->first.id == id; ++line) {
    if (line->second.proven) addresses.push_back(line->first.address);
  }
  return addresses;
}

}  // namespace sluice::autoscaler
