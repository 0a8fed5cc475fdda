#pragma once

#include "load/core/ending.h"
#include "load/core/histogram.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace sluice::loadgen {

/// One request from plan to end; times are offsets from the start of the run.
struct Outcome {
  Duration planned{0};
  Duration taken{0};  ///< when the generator took it up
  Duration done{0};
  Ending ending = Ending::answered;
  unsigned status = 0;   ///< of a whole response; 0: it has none, as messages of WebSocket
  bool refused = false;  ///< the response carries Sluice-Error: made by Sluice itself
  std::uint64_t bytes = 0;
  std::optional<unsigned> grpc = {};  ///< status of a gRPC call
};

/// True if the caller of the service would call it an error: no whole answer, or 5xx.
[[nodiscard]] bool is_error(const Outcome& outcome);

/// Sums up a run. Latency counts from the planned send time, so a server that stalls is charged for
/// every request that fell due meanwhile, not only for those that happened to be on their way.
/// Requests that time out count with the time they were given: leaving them out would flatter.
class Tally {
 public:
  static constexpr unsigned kGrpcStatusMax = 99;

  /// Requests planned before `warmup` are counted apart and nowhere else.
  explicit Tally(Duration warmup) : warmup_{warmup} {}

  /// A request was taken up.
  void sent(Duration planned, Duration taken);
  void finished(const Outcome& outcome);
  /// A request planned for then had to wait for its connection, and with TLS for that.
  void connected(Duration planned, Duration taken);

  /// Adds what another tally with the same warm-up counted.
  void add(const Tally& other);

  /// `requests` fell due and were never taken up.
  void unsent(std::uint64_t requests) { unsent_ += requests; }

  [[nodiscard]] std::uint64_t sent() const { return sent_; }

  [[nodiscard]] std::uint64_t ended(Ending ending) const {
    return endings_[static_cast<std::size_t>(ending)];
  }

  [[nodiscard]] std::uint64_t unsent() const { return unsent_; }

  /// Sent, and neither answered nor failed when the run was stopped.
  [[nodiscard]] std::uint64_t cut() const;

  /// Answers that Sluice made itself.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

  /// Requests without a connection, of all kinds.
  [[nodiscard]] std::uint64_t unconnected() const;
  /// Requests whose time ran out, with and without a connection.
  [[nodiscard]] std::uint64_t timeouts() const;
  /// Sent, and without a whole answer.
  [[nodiscard]] std::uint64_t lost() const;
  /// Answers with another status than 200 to 299.
  [[nodiscard]] std::uint64_t non_2xx() const;
  /// Answers with this status.
  [[nodiscard]] std::uint64_t answers(unsigned status) const;

  /// Answers with a status of 500 and above.
  [[nodiscard]] std::uint64_t server_errors() const { return server_errors_; }

  /// All that the caller of a service would call an error: no whole answer, not sent, or 5xx.
  [[nodiscard]] std::uint64_t errors() const;
  /// errors() as a fraction of the requests that fell due; 0 when none did.
  [[nodiscard]] double error_rate() const;

  [[nodiscard]] std::uint64_t warmup_sent() const { return warmup_sent_; }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  [[nodiscard]] const std::map<unsigned, std::uint64_t>& statuses() const { return statuses_; }

  /// Answered calls of gRPC by their status, OK (0) included; larger ones as kGrpcStatusMax.
  [[nodiscard]] const std::map<unsigned, std::uint64_t>& grpc_statuses() const {
    return grpc_statuses_;
  }

  [[nodiscard]] const Histogram& latency() const { return latency_; }  ///< from the planned time

  [[nodiscard]] const Histogram& service() const { return service_; }  ///< from being taken up

  [[nodiscard]] const Histogram& lag() const { return lag_; }  ///< from planned to taken up

  /// What requests that opened a connection waited for it, TLS included.
  [[nodiscard]] const Histogram& connecting() const { return connecting_; }

  /// The latest time that a request was planned for which counts and was taken up.
  [[nodiscard]] Duration last_planned() const { return last_planned_; }

  /// When the last request was taken up that counts.
  [[nodiscard]] Duration last_taken() const { return last_taken_; }

  /// When the last request ended, warm-up included.
  [[nodiscard]] Duration last_end() const { return last_end_; }

 private:
  template <class Kind>
  [[nodiscard]] std::uint64_t sum_of(const Kind& is_kind) const;

  Duration warmup_;
  std::uint64_t sent_ = 0;
  std::uint64_t warmup_sent_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t server_errors_ = 0;
  std::uint64_t bytes_ = 0;
  std::array<std::uint64_t, kEndings.size()> endings_{};
  std::map<unsigned, std::uint64_t> grpc_statuses_;
  std::map<unsigned, std::uint64_t> statuses_;  // at most 900: three digits
  Histogram latency_;
  Histogram service_;
  Histogram lag_;
  Histogram connecting_;
  Duration last_planned_{0};
  Duration last_taken_{0};
  Duration last_end_{0};
};

}  // namespace sluice::loadgen
