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

  /// A new stream: nothing was sent on it.
  void restart() { last_.reset(); }

 private:
  std::mt19937_64 random_;
  Duration interval_ = proto::kReportInterval;
  std::optional<proto::NodeReport> last_;
  TimePoint sent_at_;
  TimePoint regular_;  // the next report when nothing happens
};

/// The state now, but for `sequence`.
using TellReport = std::function<proto::NodeReport()>;

/// Reports the state of this node to one replica of the autoscaler, which is called again whenever
/// the call ends.
class ReportStream {
 public:
  /// `loop`, `log` and `tell` outlive this. `lost` is called when a call has ended or failed.
  /// Problem: a file of client.tls_dir. `client.method` is set here.
  [[nodiscard]] static Result<std::unique_ptr<ReportStream>, Problem> make(
      boost::asio::io_context& io, Loop& loop, const log::Logger& log, rpc::ClientOptions client,
      const TellReport& tell, std::function<void()> lost);

  ReportStream(const ReportStream&) = delete;
  ReportStream& operator=(const ReportStream&) = delete;
  ~ReportStream() = default;

  /// Once.
  void start() { client_->start(); }

  /// Something may have changed.
  void news() { send_when_due(); }

  [[nodiscard]] bool connected() const { return client_->connected(); }

  /// Reports sent so far.
  [[nodiscard]] std::uint64_t reports() const { return reports_; }

 private:
  ReportStream(Loop& loop, const log::Logger& log, const TellReport& tell, std::uint64_t seed)
      : loop_{loop}, log_{log}, tell_{tell}, pace_{seed}, timer_{loop.timer()} {}

  void closed(const rpc::Client::Closed& closed);
  void heard(const std::string& bytes);
  void send_when_due();

  Loop& loop_;              // of App
  const log::Logger& log_;  // of App
  const TellReport& tell_;  // of Reports
  std::function<void()> lost_;
  ReportPace pace_;
  std::unique_ptr<rpc::Client> client_;
  std::unique_ptr<Timer> timer_;
  std::uint64_t sequence_ = 0;
  std::uint64_t reports_ = 0;
  std::string last_trouble_;
};

}  // namespace sluice::node_agent
