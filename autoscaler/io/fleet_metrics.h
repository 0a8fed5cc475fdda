#pragma once

#include "autoscaler/io/fleet.h"
#include "autoscaler/io/stat_socket.h"

#include <cstdint>
#include <string>

namespace sluice::autoscaler {

/// What metrics are made of beside the revisions.
struct FleetTotals {
  IntakeCounts intake;
  ActivatorHub::Counts streams;
  StatSocketCounts socket;
  std::size_t activators = 0;  ///< on a stream
  std::size_t senders = 0;     ///< on a WebSocket
  std::size_t nodes_reporting = 0;
  std::size_t throttled_pods = 0;
  std::size_t wrong_files = 0;
  double started = 0;  ///< Unix seconds
};

/// Appends all metrics in Prometheus' text format: those of autoscaler.md 12 under Knative's names,
/// ours under `sluice_autoscaler_`.
void write_metrics(std::string& out, const Fleet& fleet, const FleetTotals& totals);

}  // namespace sluice::autoscaler
