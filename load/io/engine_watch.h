#pragma once

#include "common/net/address.h"
#include "common/time/clock.h"

#include "load/core/engine_source.h"
#include "load/core/replica_track.h"
#include "load/core/target.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::loadgen {

/// Where the API of an engine, or of an autoscaler, is spoken to.
struct EngineApi {
  net::Address at;   ///< a numeric IP address with its port, or a socket
  std::string path;  ///< before `/services`
  std::string host;  ///< value of the Host header
  /// The service of all targets; empty: each target's is found by its host.
  std::string space = {};
  std::string service = {};
};

/// The API of the engine at whose front door, at a numeric `address`, `target` would be.
[[nodiscard]] EngineApi engine_beside(const Target& target, const std::string& address);

/// Finds out which targets are services of an engine, and if any is follows the engine's event
/// stream (protocols.md 5). A target that is none is no error and makes no noise.
class EngineWatch {
 public:
  /// `loop` and `clock` outlive the watch; there is one target at least; an engine has `patience`
  /// to answer.
  EngineWatch(boost::asio::io_context& loop, const Clock& clock, std::vector<Target> targets,
              EngineApi api, Duration patience = std::chrono::seconds{1});
  ~EngineWatch();
  EngineWatch(const EngineWatch&) = delete;
  EngineWatch& operator=(const EngineWatch&) = delete;

  /// Calls `ready` once, within the patience: the stream has begun, or there is none.
  void start(std::function<void()> ready);

  /// The run begins: events are placed on its time axis from now on.
  void begin(TimePoint run_began);

  /// Called at each change of the replicas; empty: not called.
  void on_change(std::function<void()> changed);

  /// Ends the stream; `closed` is called once nothing is under way any more.
  void stop(std::function<void()> closed);

  /// By target; those of targets that are no service of an engine stay empty.
  [[nodiscard]] const std::vector<ReplicaTrack>& tracks() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::loadgen
