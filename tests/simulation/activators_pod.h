#pragma once

#include "common/breaker/breaker.h"
#include "common/load/request_stats.h"
#include "common/time/time_point.h"
#include "tests/simulation/activators_scene.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::simulation {

/// What a sidecar says to a request in the end.
enum class PodAnswer : std::uint8_t {
  answered,
  full,      ///< 503 queue-full, untouched
  draining,  ///< 503 draining, untouched
  broken,    ///< the connection ended with the pod
};

/// A sidecar's answer to a probe; there is none for a pod that is gone.
enum class PodHealth : std::uint8_t { gone, starting, ready, draining };

/// A pod: an application that serves, and a sidecar that lets containerConcurrency requests in at
/// once and a bounded number wait, and that drains on SIGTERM.
class SimulatedPod {
 public:
  using Reply = std::function<void(PodAnswer)>;

  SimulatedPod(Scene& scene, std::uint64_t number, std::int32_t limit);

  [[nodiscard]] std::uint64_t number() const { return number_; }

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const std::string& dest() const { return dest_; }

  [[nodiscard]] PodHealth health() const { return health_; }

  [[nodiscard]] bool gone() const { return health_ == PodHealth::gone; }

  /// True time of its present health.
  [[nodiscard]] TimePoint since() const { return since_; }

  /// The application serves from now on.
  void become_ready();

  /// SIGTERM: what comes in the quiet time is served, later it is refused; with the last request it
  /// is gone.
  void drain();

  /// SIGKILL: everything on it breaks.
  void kill();

  /// A request arrives; `reply` is called once, now or later.
  void take(Ledger::Request request, Reply reply);

  /// The activator gave the request up; it is not replied to.
  void abort(Ledger::Request request);

  /// The stat of the interval since the last call.
  [[nodiscard]] load::LoadReport report();

  [[nodiscard]] std::size_t in_flight() const { return held_.size(); }

  /// Calls `action` once, when the health changes next.
  void await(std::function<void()> action) { awaiting_.push_back(std::move(action)); }

  /// Called when the last request of a draining pod is gone, and with a kill.
  std::function<void()> on_gone;

  /// Called when the application serves, and when it will not any more.
  std::function<void()> on_health;

 private:
  struct Held {
    Reply reply;
    std::optional<breaker::Ticket> ticket = {};  // waits in the sidecar
    std::uint64_t run = 0;                       // of the application's work on it; 0: none
  };

  void begin(Ledger::Request request);
  void finish(Ledger::Request request, std::uint64_t run);
  void let_next_in();
  void leave_if_drained();
  void set_health(PodHealth health);

  Scene& scene_;
  std::uint64_t number_;
  std::string name_;
  std::string dest_;
  std::int32_t limit_;
  PodHealth health_ = PodHealth::starting;
  TimePoint since_;
  bool refuses_ = false;
  breaker::Breaker breaker_;
  load::RequestStats stats_;
  std::map<Ledger::Request, Held> held_;
  std::uint64_t runs_ = 0;
  std::vector<std::function<void()>> awaiting_;
};

}  // namespace sluice::simulation
