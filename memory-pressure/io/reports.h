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
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sluice::node_agent {

/// Reports the state of this node to every replica of the autoscaler: each decides for revisions of
/// its own. A name means all of its addresses, which are looked up again and again.
class Reports {
 public:
  /// Replicas that are reported to, at most.
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

  /// Ends every stream.
  void stop();

  /// To one replica at least.
  [[nodiscard]] bool connected() const;

  /// Reports sent so far, to all replicas together.
  [[nodiscard]] std::uint64_t reports() const;

 private:
  using Tcp = boost::asio::ip::tcp;

  // An address whose host is a name.
  struct Name {
    std::string host;
    std::string port;
    Tcp::resolver resolver;
    bool asked = false;          // an answer of the resolver is awaited
    std::uint32_t failures = 0;  // in a row
    std::string trouble = {};    // reported last
  };

  struct Line {
    const Name* name = nullptr;  // of names_; null: it is in the options
    std::unique_ptr<ReportStream> stream;
  };

  [[nodiscard]] std::optional<Problem> add(const std::string& target, const Name* name);
  void look_up();
  void look_up_within(Duration pause);
  [[nodiscard]] std::optional<Problem> settle(const Name& name,
                                              const Tcp::resolver::results_type& found);
  void failed(Name& name, const std::string& why);

  boost::asio::io_context& io_;  // of App
  Loop& loop_;                   // of App
  const log::Logger& log_;       // of App
  Options options_;
  TellReport tell_;
  std::vector<std::unique_ptr<Name>> names_;
  std::map<std::string, Line> lines_;  // by target
  std::unique_ptr<Timer> timer_;
  std::optional<TimePoint> due_;      // of the next look-up
  std::mt19937_64 random_;            // scatters look-ups of many nodes
  std::uint64_t reports_before_ = 0;  // of lines that are gone
  std::uint64_t made_ = 0;            // lines, for their seeds
  bool full_ = false;                 // replicas beyond the limit were reported
  Lifetime alive_;
};

}  // namespace sluice::node_agent
