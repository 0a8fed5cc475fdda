#pragma once

#include "common/time/clock.h"

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

/// Finds out which targets at one address are services of an engine, and if any is follows the
/// engine's event stream (protocols.md 5). A target that is none is no error and makes no noise.
class EngineWatch {
 public:
  /// `loop` and `clock` outlive the watch; `address` is a numeric IP address of the targets' hosts,
  /// of which there is one at least, all with one port; an engine has `patience` to answer.
  EngineWatch(boost::asio::io_context& loop, const Clock& clock, std::vector<Target> targets,
              const std::string& address, Duration patience = std::chrono::seconds{1});
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
