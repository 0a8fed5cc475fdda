#pragma once

#include "common/base/result.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/messages/node_stream.h"
#include "common/rpc/client.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// When a report is due (protocols.md 4): at once, at most four a second, when the pressure or the
/// throttled set changes or `admit_bytes` moves by more than a tenth of capacity; else once per
/// interval, a tenth more or less.
class ReportPace {
 public:
  explicit ReportPace(std::uint64_t seed) : random_{seed} {}

  /// When `next` should be sent; the past: now.
  [[nodiscard]] TimePoint due(const proto::NodeReport& next) const;

  /// This was sent.
  void sent(const proto::NodeReport& report, TimePoint now);

  /// As an ack requires.
  void set_interval(Duration interval) { interval_ = interval; }

 private:
  std::mt19937_64 random_;
  Duration interval_ = proto::kReportInterval;
  std::optional<proto::NodeReport> last_;
  TimePoint sent_at_;
  TimePoint regular_;  // the next report when nothing happens
};

/// The state now, but for `sequence`.
using TellReport = std::function<proto::NodeReport()>;

/// Reports the state of this node to one replica of the autoscaler, in one call.
class ReportStream {
 public:
  /// Once, when the call has ended or failed. `taken`: that replica took reports. It must not
  /// destroy the stream.
  using Ended = std::function<void(const rpc::Ending& ending, bool taken)>;

  /// `loop`, `log` and `tell` outlive this. Problem: a file of client.tls_dir. `client.method` is
  /// set here.
  [[nodiscard]] static Result<std::unique_ptr<ReportStream>, Problem> make(
      boost::asio::io_context& io, Loop& loop, const log::Logger& log, rpc::ClientOptions client,
      const TellReport& tell, Ended ended);

  ReportStream(const ReportStream&) = delete;
  ReportStream& operator=(const ReportStream&) = delete;
  ~ReportStream() = default;

  /// Once.
  void start();

  /// Something may have changed.
  void news() { send_when_due(); }

  /// The call is open, and the replica has acknowledged a report.
  [[nodiscard]] bool taken() const { return taken_; }

  [[nodiscard]] const std::string& target() const { return client_->target(); }

  /// Reports sent so far.
  [[nodiscard]] std::uint64_t reports() const { return reports_; }

 private:
  ReportStream(Loop& loop, const log::Logger& log, const TellReport& tell, std::uint64_t seed)
      : loop_{loop},
        log_{log},
        tell_{tell},
        pace_{seed},
        timer_{loop.timer()},
        patience_{loop.timer()} {}

  void end(const rpc::Ending& ending);
  void heard(const std::string& bytes);
  void await_ack();
  void send_when_due();

  Loop& loop_;              // of App
  const log::Logger& log_;  // of App
  const TellReport& tell_;  // of Reports
  Ended ended_;
  ReportPace pace_;
  std::unique_ptr<rpc::Client> client_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Timer> patience_;
  bool awaited_ = false;  // an answer, until patience_ ends
  bool taken_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t reports_ = 0;
};

}  // namespace sluice::node_agent
