#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/messages/node_stream.h"
#include "common/rpc/client.h"
#include "common/time/clock.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// When a report is due (protocols.md 4): at once, at most four a second, when the pressure or who
/// is throttled changes or `admit_bytes` moves by more than a tenth of capacity; else once per
/// interval, a tenth more or less.
class ReportPace {
 public:
  explicit ReportPace(std::uint64_t seed) : random_{seed} {}

  /// When `next` should be sent; the past: now. `last`, the report sent before on this stream, and
  /// `sent_at` say since when; absent: nothing was sent yet.
  [[nodiscard]] TimePoint due(const proto::NodeReport& next) const;

  /// This was sent.
  void sent(const proto::NodeReport& report, TimePoint now);

  /// As an ack asks.
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

/// Reports the state of this node to the autoscaler. One stream to one of its replicas at a time:
/// a server that does not take it is left for the next address.
class ReportStream {
 public:
  struct Options {
    std::vector<std::string> addresses;  ///< `host:port` or `unix:/path`; none: nothing is reported
    std::string tls_dir;                 ///< as rpc::ClientOptions
    std::uint64_t seed = 0;
  };

  /// The state now, but for `sequence`.
  using Tell = std::function<proto::NodeReport()>;

  /// `clock` and `log` outlive this.
  ReportStream(boost::asio::io_context& io, const Clock& clock, const log::Logger& log,
               Options options, Tell tell);

  /// The problem names a file of tls_dir.
  [[nodiscard]] std::optional<Problem> start();

  /// Something may have changed.
  void news();

  /// Sends what is due and ends the stream.
  void stop();

  [[nodiscard]] bool connected() const { return client_ && client_->connected(); }

  /// Reports sent so far.
  [[nodiscard]] std::uint64_t reports() const { return reports_; }

 private:
  [[nodiscard]] std::optional<Problem> dial();
  void lost(const rpc::Client::Closed& closed);
  void redial();
  void heard(const std::string& bytes);
  void send_when_due();

  boost::asio::io_context& io_;  // of App
  const Clock& clock_;           // of App
  const log::Logger& log_;       // of App
  Options options_;
  Tell tell_;
  ReportPace pace_;
  std::unique_ptr<rpc::Client> client_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer redial_;
  std::size_t at_ = 0;  // in options_.addresses
  std::uint64_t sequence_ = 0;
  std::uint64_t reports_ = 0;
  std::uint32_t failures_ = 0;
  std::string last_trouble_;
  Lifetime alive_;
};

}  // namespace sluice::node_agent
