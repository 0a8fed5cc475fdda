#pragma once

#include "common/time/time_point.h"

#include <optional>

namespace sluice::queue_proxy {

/// The end of a sidecar's life as a value (queue-proxy.md 11 and 15.5): probes fail from the start
/// of the drain, the quiet time restarts with every request that still arrives, and the drain is
/// over when the quiet time has passed and nothing is in flight.
class Drain {
 public:
  explicit Drain(Duration quiet) : quiet_{quiet} {}

  /// SIGTERM or /drain: final.
  void start(TimePoint now);

  /// /wait-for-drain without SIGTERM: undone after one second unless `start` came meanwhile.
  void start_tentatively(TimePoint now);

  /// When a call of /wait-for-drain that came `arrived` and may start nothing has its answer:
  /// after a second, in which the SIGTERM that goes with it has come; nothing while a drain runs,
  /// whose end is the answer.
  [[nodiscard]] std::optional<TimePoint> wait_due(TimePoint arrived) const;

  /// A request that is no probe arrived.
  void arrived(TimePoint now);

  /// A tentative drain is a second old. Returns whether it was undone.
  bool expire_tentative(TimePoint now);

  [[nodiscard]] bool draining() const { return quiet_until_.has_value(); }

  [[nodiscard]] bool final() const { return final_; }

  /// Whether the drain is over.
  [[nodiscard]] bool done(TimePoint now, std::size_t in_flight) const;

  /// When the quiet time ends; nothing while not draining.
  [[nodiscard]] std::optional<TimePoint> quiet_until() const { return quiet_until_; }

  [[nodiscard]] std::optional<TimePoint> tentative_until() const { return tentative_until_; }

 private:
  Duration quiet_;
  std::optional<TimePoint> quiet_until_;
  std::optional<TimePoint> tentative_until_;
  bool final_ = false;
};

}  // namespace sluice::queue_proxy
