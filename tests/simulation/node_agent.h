#pragma once

#include "common/log/log.h"
#include "tests/simulation/node_runtime.h"

#include "memory-pressure/io/control_loop.h"
#include "memory-pressure/io/journal.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>

namespace sluice::node_agent {

/// Outlives the agent that writes it.
class SimJournal final : public Journal {
 public:
  void lose() { text_.clear(); }

  [[nodiscard]] Result<std::string, Problem> content() const override {
    return {boost::system::in_place_value, text_};
  }

  [[nodiscard]] std::optional<Problem> append(std::span<const JournalRecord> records) override;
  [[nodiscard]] std::optional<Problem> compact(std::span<const JournalRecord> records) override;

  [[nodiscard]] std::size_t size() const override { return text_.size(); }

 private:
  std::string text_;
};

/// The program's loop and hand on the simulated node, in virtual time: killed now and then and
/// started again, by a clock that steps.
class SimAgent {
 public:
  struct Told {
    std::function<void()> decided;
    std::function<void(const std::string& id)> stopped;  ///< ends a container
  };

  /// `kernel`, `time` and `doctoring` outlive this.
  SimAgent(SimKernel& kernel, ManualTime& time, const MemoryController::Options& rules,
           const NodeFaults& faults, const Doctoring& doctoring, std::optional<double> sight_ms,
           std::uint64_t seed, Told told);

  /// The program of a new container begins.
  void begin(const std::string& id) { runtime_.begin(id); }

  /// Lets faults happen that are due now.
  void pass();

  /// A container was made or has ended. On one machine no runtime reports that: the next sample
  /// shows it.
  void news(bool reported);

  /// Null while it is dead, or finds out what it left behind.
  [[nodiscard]] MemoryController* controller() {
    return loop_ && loop_->is_recovered() ? &loop_->controller() : nullptr;
  }

  [[nodiscard]] const SimRuntime& runtime() const { return runtime_; }

  /// Quiet from now on: no more faults.
  void end_faults() { faults_ = {}; }

 private:
  void start();
  void crash();

  [[nodiscard]] double dice() { return std::uniform_real_distribution<double>{0, 1}(random_); }

  SimKernel& kernel_;
  ManualTime& time_;
  NodeFaults faults_;
  const Doctoring& doctoring_;
  MemoryController::Options options_;
  std::function<void()> decided_;
  std::mt19937_64 random_;
  log::Logger log_{"simulation", log::Severity::error};
  ManualLoop clock_{time_};
  SimRuntime runtime_;
  SimJournal journal_;
  std::optional<ControlLoop> loop_;
  TimePoint dead_until_;
  TimePoint next_crash_;
};

}  // namespace sluice::node_agent
