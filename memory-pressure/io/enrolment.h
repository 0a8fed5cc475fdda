#pragma once

#include "common/base/result.h"
#include "common/certificates/certificates.h"
#include "common/log/log.h"
#include "common/loop/loop.h"
#include "common/net/fetch.h"
#include "common/net/host_and_port.h"
#include "common/net/tls/tls_trust.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace sluice::node_agent {

/// When a certificate has to be replaced: two thirds of its life are over.
[[nodiscard]] TimePoint renewal_of(const certificates::Span& span);

/// Gets this node a certificate from the autoscaler (protocols.md 4) by the token of its service
/// account, keeps it and the CAs in the directory that Reports reads, and renews it in time,
/// or as soon as no CA there has signed it. The key is made here and goes nowhere else. Belongs to
/// one thread.
class Enrolment {
 public:
  struct Options {
    std::string address;     ///< `host:port`, where the autoscaler enrols; the certificate's name
    std::string tls_dir;     ///< where tls.crt, tls.key and ca.crt are written
    std::string token_file;  ///< read at each attempt: it is replaced every hour
    std::string ca_file;     ///< the CAs of the autoscaler; followed
    std::uint64_t seed = 0;  ///< of the pauses' scatter; give every agent another
    Duration look = std::chrono::seconds{10};  ///< between two looks at the files and the time
  };

  /// `ready`: the directory is complete; once. All references outlive this.
  Enrolment(boost::asio::io_context& io, Loop& loop, const log::Logger& log, Options options,
            std::function<void()> ready);

  void start() { look(); }

  void stop();

  /// Until when the certificate is good; TimePoint{}: there is none.
  [[nodiscard]] TimePoint good_until() const { return span_ ? span_->until : TimePoint{}; }

 private:
  using Tcp = boost::asio::ip::tcp;

  // What a call on its way holds.
  struct Trusted {
    explicit Trusted(const std::string& host) : client{trust, host, {}, "http/1.1"} {}

    net::TlsTrust trust;
    net::VerifyingTlsClient client;
  };

  void look();
  void ask();
  void call(const std::string& token, const net::Address& replica);
  void answered(const net::FetchResult& answer);
  void failed(const std::string& why, Duration at_least = {});
  void rest(Duration pause);
  [[nodiscard]] std::optional<std::string> follow_authorities();
  [[nodiscard]] std::optional<Problem> keep(const std::string& certificate);

  boost::asio::io_context& io_;  // of App
  Loop& loop_;                   // of App
  const log::Logger& log_;       // of App
  Options options_;
  net::HostAndPort where_;
  std::function<void()> ready_;
  std::mt19937_64 dice_;
  std::unique_ptr<Timer> timer_;
  Tcp::resolver resolver_;
  std::shared_ptr<Trusted> trusted_;
  std::optional<net::Fetch> fetch_;
  certificates::KeyPair key_;
  std::string certificate_;
  std::string authorities_;
  std::optional<certificates::Span> span_;  // of certificate_, while it is of use
  std::size_t attempts_ = 0;
  std::uint32_t failures_ = 0;
  std::string last_trouble_;
  bool stopped_ = false;
};

}  // namespace sluice::node_agent
