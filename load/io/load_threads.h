#pragma once

#include "load/io/load_run.h"
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace sluice::loadgen {

/// Carries out one plan on several threads, which share nothing: request k of the one schedule
/// belongs to thread k modulo their number, and what came of them is added up at the end. The first
/// is the caller's.
class LoadThreads {
 public:
  /// As for LoadRun. `loop` is that of the first thread; the plan says how many there are; `cells`
  /// by thread.
  LoadThreads(boost::asio::io_context& loop, const Clock& clock, const LoadPlan& plan,
              const std::vector<std::string>& addresses, std::vector<std::vector<CellReader>> cells,
              const net::ClientTls* tls);
  /// Ends the other threads, whatever they do.
  ~LoadThreads();
  LoadThreads(const LoadThreads&) = delete;
  LoadThreads& operator=(const LoadThreads&) = delete;

  /// Starts all; `done` is called once on `loop`, when they have ended.
  void start(std::function<void()> done);

  /// As of LoadRun.
  void stop();

  /// Of all threads; before the end those of the first alone.
  [[nodiscard]] const Results& results() const;

  [[nodiscard]] TimePoint began() const { return first_.began(); }

  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::uint64_t cap_waits() const;

  [[nodiscard]] bool interrupted() const { return first_.interrupted(); }

  [[nodiscard]] GeneratorWatch generator() const;
  [[nodiscard]] ErrorSamples error_samples() const;

 private:
  struct Other;

  void ended();

  boost::asio::io_context& loop_;
  LoadRun first_;
  std::vector<std::unique_ptr<Other>> others_;
  std::function<void()> done_;
  std::size_t running_ = 0;
  Results merged_;  // once all have ended
  bool over_ = false;
};

/// What one of the threads of `plan` does: its share of connections and of a closed loop's
/// requests.
[[nodiscard]] LoadPlan plan_of_share(const LoadPlan& plan, const Share& share);

}  // namespace sluice::loadgen
