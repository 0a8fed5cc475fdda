#pragma once

#include "tests/simulation/node_kernel.h"
#include "tests/simulation/node_run.h"

#include "memory-pressure/core/controller.h"
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// What the agent's I/O does around the real controller, against the simulated kernel: samples,
/// calls a runtime that takes its time, writes a journal, is killed and comes back.
class AgentTwin {
 public:
  AgentTwin(SimKernel& kernel, const MemoryController::Options& rules, const NodeFaults& faults,
            const Doctoring& doctoring, std::uint64_t seed);

  /// One step at `now`. Returns the containers it has stopped.
  [[nodiscard]] std::vector<std::string> pass(double now);

  /// Null while it is dead.
  [[nodiscard]] MemoryController* controller() { return controller_ ? &*controller_ : nullptr; }

  [[nodiscard]] bool decided_now() const { return decided_now_; }

  [[nodiscard]] int updates() const { return updates_; }

  [[nodiscard]] std::vector<std::string>& breaches() { return breaches_; }

  /// Quiet from now on: no more faults.
  void end_faults() { faults_ = {}; }

 private:
  struct Pending {
    double takes_effect = 0;
    double answers = 0;  ///< never, when negative
    bool effective = true;
    bool stop = false;
    std::uint64_t call = 0;
    std::string id;
    CpuQuota quota;
    Outcome outcome = Outcome::ok;
  };

  void start(double now);
  [[nodiscard]] Observation observe(double now);
  [[nodiscard]] TimePoint clock(double now);
  void decide(double now);
  void carry_out(const std::vector<Action>& actions, double now);
  void update(const Update& order, double now);
  void finish_calls(double now, std::vector<std::string>& stopped);
  void take_effect(Pending& call, std::vector<std::string>& stopped);
  [[nodiscard]] bool runtime_is_down(double now) const;

  [[nodiscard]] double dice() { return std::uniform_real_distribution<double>{0, 1}(random_); }

  SimKernel& kernel_;
  NodeFaults faults_;
  Doctoring doctoring_;
  MemoryController::Options options_;
  std::mt19937_64 random_;
  std::optional<MemoryController> controller_;
  std::vector<Pending> pending_;
  std::vector<Container> last_list_;
  std::string journal_;
  bool decided_now_ = false;
  double next_sample_ = 0;
  double dead_until_ = -1;
  double next_crash_ = 0;
  double clock_offset_ = 0;
  int updates_ = 0;
  std::vector<std::string> breaches_;
};

}  // namespace sluice::node_agent
