#pragma once

#include "autoscaler/core/nodes/throttled_pods.h"
#include "autoscaler/placement/core/node_gates.h"
#include "common/messages/node_stream.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace sluice::autoscaler {

/// What the agents of the nodes report, and what follows from it (protocols.md 4): which pods are
/// throttled, and the start gate of each node.
///
/// A node that was silent for kSilence, or whose agent is in dry run, counts as one without an
/// agent.
class NodeBook final : public ThrottledPods {
 public:
  static constexpr Duration kSilence = std::chrono::seconds{30};

  /// After this silence a node is forgotten: it was replaced, or its name was never a node's.
  static constexpr Duration kForgotten = std::chrono::minutes{10};

  static constexpr std::size_t kNodesMax = 10'000;

  /// Throttled containers that are kept, of one node for people and of all nodes for decisions.
  static constexpr std::size_t kShownMax = 100;
  static constexpr std::size_t kThrottledPodsMax = 200'000;

  struct Node {
    proto::NodeReport report;  ///< of its throttled containers the first kShownMax
    std::size_t throttled = 0;
    TimePoint heard;
    bool silent = false;

    [[nodiscard]] bool counts() const { return !silent && !report.dry_run; }
  };

  /// Why a report is not taken: for the end of its stream.
  struct Refused {
    bool wrong_protocol = false;
    std::string text;
  };

  struct Heard {
    proto::NodeReportAck ack;
    bool changed = false;         ///< throttled() or a gate may answer otherwise now
    bool other_pressure = false;  ///< than in the last report; in the first one, that it is high
  };

  [[nodiscard]] std::variant<Heard, Refused> hear(proto::NodeReport report, TimePoint now);

  /// Looks for nodes that have become silent, and drops those that were for long; true when that
  /// changes an answer. Call every few seconds.
  [[nodiscard]] bool look(TimePoint now);

  /// Only the agent of the pod's own node counts; `node` empty: any does.
  [[nodiscard]] bool throttled(const std::string& space, const std::string& pod,
                               const std::string& node) const override;

  /// Of the nodes that count.
  [[nodiscard]] placement::NodeGates& gates() { return gates_; }

  /// Every node that ever reported, by name.
  [[nodiscard]] const std::map<std::string, Node>& nodes() const { return nodes_; }

  /// Nodes whose agents count: neither silent nor in a dry run.
  [[nodiscard]] std::size_t reporting() const { return gates_.size(); }

  [[nodiscard]] std::size_t throttled_pods() const { return throttled_.size(); }

 private:
  using PodKey = std::pair<std::string, std::string>;  // namespace and pod

  bool forget_one();
  void add_pods(const std::string& name, const std::set<PodKey>& pods);
  bool take_out_pods(const std::string& name);
  bool take_out(const std::string& name);

  std::map<std::string, Node> nodes_;
  std::map<std::string, std::set<PodKey>> throttled_of_;  // by node, those that count
  std::map<PodKey, std::uint32_t> throttled_;             // on how many nodes
  std::size_t entries_ = 0;                               // in throttled_of_
  placement::NodeGates gates_;
};

}  // namespace sluice::autoscaler
