#include "autoscaler/core/node_book.h"

#include "common/base/check.h"

#include <algorithm>
#include <limits>

namespace sluice::autoscaler {

std::variant<NodeBook::Heard, NodeBook::Refused> NodeBook::hear(proto::NodeReport report,
                                                                TimePoint now) {
  if (report.protocol != proto::kNodeProtocol) {
    return Refused{true, "protocol " + std::to_string(report.protocol) + " is not " +
                             std::to_string(proto::kNodeProtocol)};
  }
  const auto known = nodes_.find(report.node);
  if (known == nodes_.end() && nodes_.size() >= kNodesMax) {
    return Refused{false, "there are too many nodes"};
  }
  Heard heard;
  heard.ack.sequence = report.sequence;
  Node& node = known == nodes_.end() ? nodes_[report.node] : known->second;
  node.heard = now;
  node.silent = false;
  node.report = std::move(report);
  heard.changed = recount();
  return heard;
}

bool NodeBook::look(TimePoint now) {
  bool silenced = false;
  for (auto& [name, node] : nodes_) {
    if (node.silent || now - node.heard < kSilence) continue;
    node.silent = true;
    silenced = true;
  }
  return silenced && recount();
}

// All that follows from the reports, made anew.
bool NodeBook::recount() {
  std::set<std::pair<std::string, std::string>> throttled;
  std::int64_t admitted = 0;
  std::size_t reporting = 0;
  for (const auto& [name, node] : nodes_) {
    if (node.silent || node.report.dry_run) continue;
    ++reporting;
    // Bytes of a node stay below 2^53, and there are few enough of them.
    admitted += std::clamp<std::int64_t>(node.report.admit_bytes, 0, std::int64_t{1} << 49U);
    for (const auto& each : node.report.throttled) throttled.emplace(each.space, each.pod);
  }
  const bool changed =
      throttled != throttled_ || admitted != admitted_ || (reporting == 0) != (reporting_ == 0);
  throttled_ = std::move(throttled);
  admitted_ = admitted;
  reporting_ = reporting;
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

bool NodeBook::throttled(const std::string& space, const std::string& pod) const {
  return !throttled_.empty() && throttled_.contains({space, pod});
}

NodeBook::Granted NodeBook::grant(const RevisionId& revision, const Demand& demand) {
  CHECK(demand.claim > 0);
  keep(revision, 0);
  if (reporting_ == 0) return {.replicas = demand.wanted};
  const std::int64_t free = std::max<std::int64_t>(0, admitted_ - kept_in_all_);
  const std::int64_t room =
      std::min<std::int64_t>(free / demand.claim, std::numeric_limits<std::int32_t>::max() / 2);
  const std::int64_t allowed = std::max<std::int64_t>(demand.ordered, demand.settled + room);
  const auto granted = static_cast<std::int32_t>(std::min<std::int64_t>(demand.wanted, allowed));
  const std::int64_t unsettled = std::max<std::int64_t>(0, granted - demand.settled);
  // Neither factor's bound lets the product, or a sum of such, leave its type.
  keep(revision, std::min(unsettled, std::int64_t{1} << 20U) *
                     std::min(demand.claim, std::int64_t{1} << 30U));
  return {.replicas = granted, .free = free, .bounded = granted < demand.wanted};
}

}  // namespace sluice::autoscaler
