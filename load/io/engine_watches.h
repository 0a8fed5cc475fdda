#pragma once

#include "load/core/load_plan.h"
#include "load/io/engine_watch.h"
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// The engines of all targets of a plan: one watch for each address, or one for all.
class EngineWatches {
 public:
  /// `loop` and `clock` outlive the watches; `addresses` are numeric IP addresses, by target.
  EngineWatches(boost::asio::io_context& loop, const Clock& clock,
                const std::vector<TargetPlan>& targets, const std::vector<std::string>& addresses);
  /// One API for all targets; absent: none is asked.
  EngineWatches(boost::asio::io_context& loop, const Clock& clock,
                const std::vector<TargetPlan>& targets, const std::optional<EngineApi>& api);

  /// Calls `ready` once, when all streams have begun or there are none.
  void start(std::function<void()> ready);
  void begin(TimePoint run_began);
  void on_change(const std::function<void()>& changed);
  /// Calls `closed` once nothing is under way any more.
  void stop(std::function<void()> closed);

  /// By target.
  [[nodiscard]] std::vector<ReplicaTrack> tracks() const;
  /// Whether a target is a service of an engine.
  [[nodiscard]] bool any_joined() const;
  /// Whether no service of a target has a replica that is ready.
  [[nodiscard]] bool none_ready() const;

 private:
  struct Place {
    std::size_t watch;
    std::size_t target;  // within the watch
  };

  std::deque<EngineWatch> watches_;
  // By target. None under TLS: the API of an engine is spoken to in clear text.
  std::vector<std::optional<Place>> places_;
  std::size_t waiting_ = 0;  // watches that have not called back yet
};

}  // namespace sluice::loadgen
