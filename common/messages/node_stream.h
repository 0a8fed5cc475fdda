#pragma once

#include "common/time/time_point.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The messages between node agent and autoscaler (protocols.md 4) as plain structs, for cores and
// all other code that must not include generated headers. common/proto/node_stream_codec.h turns
// them into bytes and back.
namespace sluice::proto {

/// The protocol both ends speak. A peer with another number is refused.
inline constexpr std::uint32_t kNodeProtocol = 1;

/// The path that both ends give to common/rpc.
inline constexpr const char* kNodeStreamMethod = "/sluice.v1.NodeStream/Report";

/// Longest name of a node, pod, namespace or container.
inline constexpr std::size_t kNodeNameBytesMax = 253;

/// Most entries of NodeReport::throttled.
inline constexpr std::size_t kThrottledMax = 10'000;

/// Pause between two reports when nothing happens, unless an ack sets another, and what it may
/// say.
inline constexpr Duration kReportInterval = std::chrono::seconds{10};
inline constexpr Duration kReportIntervalMin = std::chrono::milliseconds{250};
inline constexpr Duration kReportIntervalMax = std::chrono::seconds{60};

/// How near a node is to running out. A value of a later version reads as `unspecified`.
enum class NodePressure : std::uint8_t { unspecified, ok, high, critical };

/// A container that is held at less CPU than it was given.
struct ThrottledContainer {
  std::string pod_uid;
  std::string space;
  std::string pod;
  std::string container;
  std::int64_t quota_us = 0;
  std::int64_t period_us = 0;
  std::int64_t since_ms = 0;  ///< Unix time
  std::uint32_t ladder_step = 0;

  friend bool operator==(const ThrottledContainer&, const ThrottledContainer&) = default;
};

/// The state of one node, whole.
struct NodeReport {
  std::uint32_t protocol = kNodeProtocol;
  std::string node;
  std::string boot_id;
  std::uint64_t sequence = 0;  ///< grows by 1 per stream, from 1
  NodePressure pressure = NodePressure::unspecified;
  std::int64_t capacity_bytes = 0;
  std::int64_t used_bytes = 0;
  std::int64_t reserve_bytes = 0;
  std::int64_t growth_bytes_per_second = 0;
  double some_avg10 = 0;
  double full_avg10 = 0;
  std::int64_t admit_bytes = 0;  ///< largest claim that may start now; 0: the gate is shut
  std::vector<ThrottledContainer> throttled{};
  bool degraded = false;
  bool dry_run = false;
  std::string version{};

  friend bool operator==(const NodeReport&, const NodeReport&) = default;
};

/// The autoscaler's answer to a report. It carries no orders.
struct NodeReportAck {
  std::uint64_t sequence = 0;  ///< of the report
  Duration report_interval = kReportInterval;

  friend bool operator==(const NodeReportAck&, const NodeReportAck&) = default;
};

}  // namespace sluice::proto
