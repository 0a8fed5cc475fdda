#pragma once

#include "common/api/event_ring.h"
#include "common/loop/loop.h"

#include "platform/process/replica.h"
#include "platform/process/service_log.h"
#include <optional>
#include <string>
#include <string_view>

namespace sluice::local {

/// What only a supervisor of processes knows of replicas, as events (one-machine.md 7): how they
/// end by themselves, and what they print.
class ReplicaEvents {
 public:
  /// Both outlive this.
  ReplicaEvents(api::EventRing& ring, const Loop& loop) : ring_{ring}, loop_{loop} {}

  /// It has ended by itself. `retry_in`: of one that was not ready yet, until the next try; absent:
  /// it was ready.
  void exited(const std::string& service, const Replica& replica, const ReplicaEnd& end,
              std::optional<Duration> retry_in);

  /// It is not ready, for `cause`.
  void waiting(const std::string& service, const Replica& replica, const Cause& cause);

  /// One line of the app's output.
  void output(const std::string& service, const LogSource& source, bool is_stderr,
              std::string_view line);

  /// `service` empty: of the engine itself. `type` is warning or error.
  void problem(const char* type, const std::string& service, const std::string& message,
               const std::string& fix);

 private:
  api::EventRing& ring_;
  const Loop& loop_;
};

}  // namespace sluice::local
