#pragma once

#include "autoscaler/placement/core/grant.h"
#include "autoscaler/placement/core/ids.h"
#include "autoscaler/placement/core/ledger.h"
#include "common/base/ids.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::placement {

/// The start gates of a cluster, of which each is one node's: how much memory may start there, as
/// its agent reports it (protocols.md 4), and one start in kStartSpacing.
///
/// Only nodes with an agent bound anything: without any, everything is granted. Which node a
/// replica comes to is its scheduler's choice, so its claim is taken at the node with most room,
/// and follows the replica to the node it really came to.
class NodeGates final : public Site {
 public:
  /// A node that reports as much holds no start back.
  static constexpr std::int64_t kNoGate = std::int64_t{1} << 49U;

  NodeGates();

  /// The node admits so many bytes from now on.
  void report(const std::string& node, std::int64_t admit);

  /// The node's gate counts no longer.
  void drop(const std::string& node);

  /// What the node admits, in bytes; absent: it has no gate that counts.
  [[nodiscard]] std::optional<std::int64_t> admitted(std::string_view node) const;

  /// Gates that count.
  [[nodiscard]] std::size_t size() const { return gates_.size(); }

  [[nodiscard]] Ledger& ledger() override { return ledger_; }

  [[nodiscard]] std::optional<NodeId> find(std::string_view node) const override;

  [[nodiscard]] bool reports_settled() const override { return true; }

  /// What was ordered is not taken back.
  [[nodiscard]] Terms terms(const RevisionId& revision, const RevisionDemand& demand,
                            std::int64_t held) override;

  [[nodiscard]] GateAnswer may_start(const RevisionId& revision, std::int32_t nth, NodeId node,
                                     const Resources& each, TimePoint now) override;
  [[nodiscard]] std::int64_t on_start(NodeId node, TimePoint now) override;
  [[nodiscard]] std::optional<TimePoint> rested(const Resources& each) const override;
  void explain(const RevisionId& revision, const RevisionDemand& demand, const Refusal& refusal,
               Missing& missing) override;

 private:
  struct Gate {
    NodeId id{};
    std::int64_t admit = 0;
  };

  struct Rest {
    NodeId node{};
    TimePoint from;
  };

  void wake(TimePoint now);
  void set_pressure(NodeId node, Pressure pressure);

  Ledger ledger_;
  PlaceId home_{};
  std::map<std::string, Gate, std::less<>> gates_;
  std::deque<Rest> resting_;  // in the order of their starts
};

}  // namespace sluice::placement
