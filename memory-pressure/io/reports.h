#pragma once

#include "common/base/lifetime.h"
#include "common/base/result.h"
#include "common/log/log.h"
#include "common/loop/loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "memory-pressure/io/report_stream.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// Reports the state of this node to the replica of the autoscaler that takes the reports of nodes
/// (protocols.md 4): the addresses are tried one after the other until one does, a name standing
/// for all of its addresses.
class Reports {
 public:
  /// Replicas that are tried in one round, at most.
  static constexpr std::size_t kReplicasMax = 64;

  struct Options {
    std::vector<std::string> addresses;  ///< `host:port` or `unix:/path`; none: nothing is reported
    std::string tls_dir;                 ///< as rpc::ClientOptions
    std::uint64_t seed = 0;
  };

  /// `loop` and `log` outlive this.
  Reports(boost::asio::io_context& io, Loop& loop, const log::Logger& log, Options options,
          TellReport tell);

  /// The problem names a file of tls_dir.
  [[nodiscard]] std::optional<Problem> start();

  /// Something may have changed.
  void news();

  /// Ends the stream.
  void stop();

  /// A replica takes the reports.
  [[nodiscard]] bool connected() const { return stream_ != nullptr && stream_->taken(); }

  /// Reports sent so far.
  [[nodiscard]] std::uint64_t reports() const;

 private:
  using Tcp = boost::asio::ip::tcp;

  struct Target {
    std::string address;
    std::string tls_name;  // empty: the address's own
  };

  // One of the addresses in the options.
  struct Place {
    std::string host;
    std::string port;
    std::optional<Tcp::resolver> resolver;  // of a name
    std::vector<Target> targets;            // of a name as it was looked up last
  };

  void begin_round();
  void look_up(Place& place);
  void lay_out();
  void try_next();
  [[nodiscard]] std::optional<Problem> call(const Target& target);
  void ended(const rpc::Ending& ending, bool taken);
  void end_round();

  boost::asio::io_context& io_;  // of App
  Loop& loop_;                   // of App
  const log::Logger& log_;       // of App
  Options options_;
  TellReport tell_;
  std::vector<Place> places_;
  std::size_t looked_up_ = 0;  // names whose answer is awaited
  std::deque<Target> turns_;   // of this round, the next first
  std::string last_;           // the address that was tried last
  std::unique_ptr<ReportStream> stream_;
  std::unique_ptr<Timer> timer_;      // until the next try
  std::mt19937_64 random_;            // scatters the rounds of many nodes
  std::uint32_t failures_ = 0;        // rounds in a row in which no replica took reports
  std::set<std::string> troubles_;    // of this round
  std::string last_trouble_;          // that was logged
  std::uint64_t reports_before_ = 0;  // of streams that are gone
  std::uint64_t made_ = 0;            // streams, for their seeds
  bool full_ = false;                 // replicas beyond the limit were logged
  Lifetime alive_;
};

}  // namespace sluice::node_agent
