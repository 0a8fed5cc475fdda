#pragma once

#include "common/net/tls/client_tls.h"
#include "common/time/clock.h"

#include "load/core/error_samples.h"
#include "load/core/generator_watch.h"
#include "load/core/load_plan.h"
#include "load/core/results.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::loadgen {

/// Carries out one plan on one thread: takes requests up when they fall due, on as many keep-alive
/// connections as that needs, and tallies how they end. Requests due while every allowed connection
/// is busy wait in the schedule itself, so a backlog takes no memory; they count as late. No
/// request is sent twice, whatever happens to its connection.
class LoadRun {
 public:
  /// `loop` and `clock` outlive the run; `addresses` are numeric IP addresses of the hosts of the
  /// plan's targets. `cells` are those of the replays, by phase. `tls` outlives the run too; it is
  /// there if a target is under TLS. Only the requests of `share` are sent.
  LoadRun(boost::asio::io_context& loop, const Clock& clock, const LoadPlan& plan,
          const std::vector<std::string>& addresses, std::vector<CellReader> cells = {},
          const net::ClientTls* tls = nullptr, Share share = {});
  ~LoadRun();
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  /// Starts; `done` is called once, when every request has ended and nothing is under way. Ends at
  /// the latest one timeout after the plan's duration.
  /// `began`: when the run has begun that this is a share of; absent: now.
  void start(std::function<void()> done, std::optional<TimePoint> began = {});

  /// Sends nothing more, gives answers on their way one second, then ends.
  void stop();

  [[nodiscard]] const Results& results() const;
  /// When start() was called.
  [[nodiscard]] TimePoint began() const;
  /// Most connections that were made at once.
  [[nodiscard]] std::size_t connections() const;
  /// How often a request fell due with every allowed connection busy.
  [[nodiscard]] std::uint64_t cap_waits() const;
  [[nodiscard]] bool interrupted() const;
  /// How this machine ran the thread.
  [[nodiscard]] const GeneratorWatch& generator() const;
  /// Why requests failed.
  [[nodiscard]] const ErrorSamples& error_samples() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What follows the path in the head of a request: from ` HTTP/1.1` up to, and without, the empty
/// line. `closes`: the server is asked to close the connection after its answer.
[[nodiscard]] std::string request_head(const TargetPlan& plan, SentAs as, bool closes);

}  // namespace sluice::loadgen
