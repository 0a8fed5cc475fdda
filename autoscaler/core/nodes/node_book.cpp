#include "autoscaler/core/nodes/node_book.h"

#include <iterator>
#include <optional>

namespace sluice::autoscaler {

std::variant<NodeBook::Heard, NodeBook::Refused> NodeBook::hear(proto::NodeReport report,
                                                                TimePoint now) {
  if (report.protocol != proto::kNodeProtocol) {
    return Refused{true, "protocol " + std::to_string(report.protocol) + " is not " +
                             std::to_string(proto::kNodeProtocol)};
  }
  const std::string name = report.node;
  const bool known = nodes_.contains(name);
  if (!known && nodes_.size() >= kNodesMax && !forget_one()) {
    return Refused{false, "there are too many nodes"};
  }
  std::set<PodKey> pods;
  if (!report.dry_run) {
    for (const auto& each : report.throttled) pods.emplace(each.space, each.pod);
  }
  const auto before = throttled_of_.find(name);
  const bool same_pods = before == throttled_of_.end() ? pods.empty() : before->second == pods;
  const std::optional<std::int64_t> admitted = gates_.admitted(name);

  Heard heard;
  heard.ack.sequence = report.sequence;
  Node& node = nodes_[name];
  take_out_pods(name);
  heard.other_pressure =
      known ? report.pressure != node.report.pressure : report.pressure > proto::NodePressure::ok;
  node.throttled = report.throttled.size();
  if (report.throttled.size() > kShownMax) {
    report.throttled.resize(kShownMax);
    report.throttled.shrink_to_fit();
  }
  node.report = std::move(report);
  node.heard = now;
  node.silent = false;
  if (node.counts()) {
    gates_.report(name, node.report.admit_bytes);
    add_pods(name, pods);
  } else {
    gates_.drop(name);
  }
  heard.changed = !same_pods || gates_.admitted(name) != admitted;
  return heard;
}

void NodeBook::add_pods(const std::string& name, const std::set<PodKey>& pods) {
  if (pods.empty() || entries_ + pods.size() > kThrottledPodsMax) return;
  for (const PodKey& pod : pods) ++throttled_[pod];
  entries_ += pods.size();
  throttled_of_.emplace(name, pods);
}

// Returns whether there were any.
bool NodeBook::take_out_pods(const std::string& name) {
  const auto pods = throttled_of_.find(name);
  if (pods == throttled_of_.end()) return false;
  for (const PodKey& pod : pods->second) {
    const auto counted = throttled_.find(pod);
    if (--counted->second == 0) throttled_.erase(counted);
  }
  entries_ -= pods->second.size();
  throttled_of_.erase(pods);
  return true;
}

// Returns whether an answer may be another without it: a shut gate among others had no part in one.
bool NodeBook::take_out(const std::string& name) {
  const std::optional<std::int64_t> admitted = gates_.admitted(name);
  if (!admitted) return false;
  gates_.drop(name);
  return take_out_pods(name) || *admitted > 0 || gates_.size() == 0;
}

// Room for a newcomer: of the silent nodes the one with the oldest report is dropped.
bool NodeBook::forget_one() {
  auto oldest = nodes_.end();
  for (auto at = nodes_.begin(); at != nodes_.end(); ++at) {
    if (!at->second.silent) continue;
    if (oldest == nodes_.end() || at->second.heard < oldest->second.heard) oldest = at;
  }
  if (oldest == nodes_.end()) return false;
  nodes_.erase(oldest);
  return true;
}

bool NodeBook::look(TimePoint now) {
  bool changed = false;
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    auto& [name, node] = *at;
    if (!node.silent && now - node.heard >= kSilence) {
      changed = take_out(name) || changed;
      node.silent = true;
    }
    at = node.silent && now - node.heard >= kForgotten ? nodes_.erase(at) : std::next(at);
  }
  return changed;
}

bool NodeBook::throttled(const std::string& space, const std::string& pod,
                         const std::string& node) const {
  if (throttled_.empty() || !throttled_.contains({space, pod})) return false;
  if (node.empty()) return true;
  const auto own = throttled_of_.find(node);
  return own != throttled_of_.end() && own->second.contains({space, pod});
}

}  // namespace sluice::autoscaler
