#pragma once

#include "common/loop/loop.h"
#include "common/net/fetch.h"
#include "queue-proxy/io/probe_attempt.h"

#include <boost/asio/ip/tcp.hpp>

#include "platform/process/command_run.h"
#include "platform/process/service_spec.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::local {

/// When a program that answers no has failed its probe.
class HealthRule {
 public:
  /// `failures` in a row, the last of them no earlier than `not_before`.
  HealthRule(std::int32_t failures, TimePoint not_before)
      : failures_{failures}, not_before_{not_before} {}

  /// Takes one answer; true when the program has failed with it.
  [[nodiscard]] bool failed_with(bool yes, TimePoint now) {
    in_a_row_ = yes ? 0 : in_a_row_ + 1;
    return in_a_row_ >= failures_ && now >= not_before_;
  }

  [[nodiscard]] std::int32_t in_a_row() const { return in_a_row_; }

 private:
  std::int32_t failures_;
  TimePoint not_before_;
  std::int32_t in_a_row_ = 0;
};

/// Asks one program on a port of loopback, or a command, whether it is well, again and again.
class HealthWatch {
 public:
  using Failed = std::function<void(const std::string& why)>;
  /// How the command of a probe is started beside the program.
  using Beside = std::function<Result<SpawnSpec, Problem>(const std::vector<std::string>& command)>;

  /// All of them outlive this, and what `beside` and `told` refer to does. `told` is called for
  /// each answer with why it is no; with nothing for a yes.
  HealthWatch(boost::asio::io_context& io, Loop& loop, Reaper& reaper, Spawner& spawner,
              Beside beside, Failed told);
  ~HealthWatch();
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  /// Asks often until the first yes, which ends it with `passed`; `failed` when there was none
  /// within the time that the probe gives a program that began at `begun`.
  void until_yes(const HealthProbe& probe, std::uint16_t port, TimePoint begun,
                 std::function<void()> passed, Failed failed);

  /// Asks often until as many answers in a row are yes as the probe needs, which ends it with
  /// `passed`.
  void until_ready(const ReadinessProbe& probe, std::uint16_t port, TimePoint begun,
                   std::function<void()> passed);

  /// Asks once a second, from a second on, only to report the answers: the sidecar asks the same
  /// and decides, but holds its answer for long and gives no reason. Asks nothing that would be
  /// misunderstood here: a command, or a path of an app that may speak only HTTP/2 (`h2c`).
  void meanwhile(const ReadinessProbe& probe, bool h2c, std::uint16_t port);

  /// Asks in each period until the probe's failure threshold is reached, which ends it.
  void while_yes(const HealthProbe& probe, std::uint16_t port, TimePoint begun, Failed failed);

  void end();

 private:
  void begin(const HealthProbe& probe, std::uint16_t port, TimePoint begun, HealthRule rule,
             Duration period);
  void ask();
  void ask_http();
  void ask_tcp();
  void ask_grpc();
  void ask_command();
  [[nodiscard]] bool is_asking() const;
  void answered(bool yes, const std::string& why);

  boost::asio::io_context& io_;
  Loop& loop_;
  std::unique_ptr<Timer> timer_;  // of the next question
  std::unique_ptr<Timer> limit_;  // of the one that is open
  HealthProbe probe_;
  std::uint16_t port_ = 0;
  Duration period_{0};
  HealthRule rule_{1, {}};
  std::function<void()> passed_;  // empty: a yes ends nothing
  std::int32_t passes_ = 0;       // in a row
  Failed failed_;
  Failed told_;
  std::optional<net::Fetch> fetch_;
  std::shared_ptr<boost::asio::ip::tcp::socket> socket_;  // with the handler of its connect
  queue_proxy::ProbeSpec health_;                         // of a gRPC probe
  std::unique_ptr<queue_proxy::ProbeAttempt> attempt_;
  Beside beside_;
  CommandRun command_;
};

}  // namespace sluice::local
