#include "autoscaler/core/nodes/node_book.h"

#include "autoscaler/core/decision/decision_record.h"
#include "common/base/check.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace sluice::autoscaler {

namespace {

// More than any node has: its agent holds no start back.
constexpr std::int64_t kAnything = std::int64_t{1} << 49U;

// What a node admits, bounded so that sums of all nodes fit.
std::int64_t admitted_by(const NodeBook::Node& node) {
  return std::clamp<std::int64_t>(node.report.admit_bytes, 0, kAnything);
}

}  // namespace

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
  const std::int64_t admitted = admitted_;
  const bool any = reporting_ > 0;

  Heard heard;
  heard.ack.sequence = report.sequence;
  Node& node = nodes_[name];
  if (known) (void)take_out(name, node);
  node.throttled = report.throttled.size();
  if (report.throttled.size() > kShownMax) {
    report.throttled.resize(kShownMax);
    report.throttled.shrink_to_fit();
  }
  node.report = std::move(report);
  node.heard = now;
  node.silent = false;
  if (node.counts()) add(name, node, pods);
  heard.changed = !same_pods || admitted_ != admitted || any != (reporting_ > 0);
  return heard;
}

void NodeBook::add(const std::string& name, const Node& node, const std::set<PodKey>& pods) {
  ++reporting_;
  admitted_ += admitted_by(node);
  open_ += admitted_by(node) > 0 ? 1 : 0;
  ungated_ += admitted_by(node) == kAnything ? 1 : 0;
  if (pods.empty() || entries_ + pods.size() > kThrottledPodsMax) return;
  for (const PodKey& pod : pods) ++throttled_[pod];
  entries_ += pods.size();
  throttled_of_.emplace(name, pods);
}

// Whether an answer may be another without it.
bool NodeBook::take_out(const std::string& name, const Node& node) {
  if (!node.counts()) return false;
  --reporting_;
  admitted_ -= admitted_by(node);
  open_ -= admitted_by(node) > 0 ? 1 : 0;
  ungated_ -= admitted_by(node) == kAnything ? 1 : 0;
  const auto pods = throttled_of_.find(name);
  if (pods == throttled_of_.end()) return reporting_ == 0 || admitted_by(node) != 0;
  for (const PodKey& pod : pods->second) {
    const auto counted = throttled_.find(pod);
    if (--counted->second == 0) throttled_.erase(counted);
  }
  entries_ -= pods->second.size();
  throttled_of_.erase(pods);
  return true;
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
      changed = take_out(name, node) || changed;
      node.silent = true;
    }
    at = node.silent && now - node.heard >= kForgotten ? nodes_.erase(at) : std::next(at);
  }
  return changed;
}

void NodeBook::keep(const RevisionId& revision, std::int64_t bytes) {
  const auto known = kept_.find(revision);
  if (known != kept_.end()) {
    kept_in_all_ += bytes - known->second;
    if (bytes == 0) {
      kept_.erase(known);
    } else {
      known->second = bytes;
    }
  } else if (bytes > 0) {
    kept_.emplace(revision, bytes);
    kept_in_all_ += bytes;
  }
}

bool NodeBook::throttled(const std::string& space, const std::string& pod,
                         const std::string& node) const {
  if (throttled_.empty() || !throttled_.contains({space, pod})) return false;
  if (node.empty()) return true;
  const auto own = throttled_of_.find(node);
  return own != throttled_of_.end() && own->second.contains({space, pod});
}

// Which node a replica will come to is not known, so that as many may start within kStartSpacing as
// there are nodes with an open gate. A clock that steps back begins a new interval.
std::int64_t NodeBook::starts_left(TimePoint now) {
  if (ungated_ > 0) return std::numeric_limits<std::int32_t>::max();
  if (now < spaced_from_ || now - spaced_from_ >= kStartSpacing) starts_ = 0;
  return std::max<std::int64_t>(0, open_ - starts_);
}

NodeBook::Granted NodeBook::grant(const RevisionId& revision, const Demand& demand) {
  CHECK(demand.claim > 0);
  keep(revision, 0);
  if (reporting_ == 0) return {.replicas = demand.wanted};
  const std::int64_t free = std::max<std::int64_t>(0, admitted_ - kept_in_all_);
  const std::int64_t room =
      std::min<std::int64_t>(free / demand.claim, std::numeric_limits<std::int32_t>::max() / 2);
  const std::int64_t allowed = std::max<std::int64_t>(demand.ordered, demand.settled + room);
  const auto fitting = static_cast<std::int32_t>(std::min<std::int64_t>(demand.wanted, allowed));
  // A replica that already runs is not a start, whichever replica ordered it.
  const std::int32_t there = std::min(fitting, std::max(demand.ordered, demand.settled));
  const auto starts =
      static_cast<std::int32_t>(std::min<std::int64_t>(fitting - there, starts_left(demand.now)));
  if (starts > 0 && starts_ == 0) spaced_from_ = demand.now;
  starts_ += starts;
  const std::int32_t granted = there + starts;
  const std::int64_t unsettled = std::max<std::int64_t>(0, granted - demand.settled);
  // Neither factor's bound lets the product, or a sum of such, leave its type.
  keep(revision, std::min(unsettled, std::int64_t{1} << 20U) *
                     std::min(demand.claim, std::int64_t{1} << 30U));
  const bool bounded = fitting < demand.wanted;
  return {.replicas = granted,
          .free = free,
          .bounded = bounded,
          .spaced = granted < fitting,
          .shortage = bounded ? memory_shortage(free, demand.claim) : std::string{}};
}

}  // namespace sluice::autoscaler
