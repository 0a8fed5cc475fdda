#pragma once

#include "common/base/lifetime.h"
#include "common/loop/loop.h"
#include "common/net/fetch.h"
#include "common/net/h2/h2_fetch.h"
#include "queue-proxy/core/probe_url.h"
#include "queue-proxy/core/readiness.h"
#include "queue-proxy/io/trusting_tls.h"

#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <string>

namespace sluice::queue_proxy {

/// How an attempt ended, and the words for it: the failure, or a warning beside a success.
struct AttemptReport {
  Attempt outcome = Attempt::failed;
  std::string text;
};

/// Asks one container once, by the kind of its probe, as kubelet does (queue-proxy.md 10 and 15.6):
/// TCP connects; HTTP and HTTPS follow up to ten redirects on the same host and take one to another
/// host as a success; gRPC calls grpc.health.v1.Health. With HTTP/2 detection up to three requests
/// follow each other, each with the attempt's whole time, for a server of HTTP/1 may well take an
/// HTTP/2 preface in silence.
class ProbeAttempt {
 public:
  using Done = std::function<void(const AttemptReport&)>;

  /// `loop` outlives the attempt. `user`: a container on a Unix socket is asked there, whatever
  /// address its probe names. `done` is called later, never from inside start().
  ProbeAttempt(boost::asio::io_context& io, const Loop& loop, const ProbeSpec& spec,
               const net::Address& user, Done done);
  ~ProbeAttempt();
  ProbeAttempt(const ProbeAttempt&) = delete;
  ProbeAttempt& operator=(const ProbeAttempt&) = delete;

  /// Begins an attempt that ends after `timeout` at the latest. The one before has ended.
  void start(Duration timeout);

 private:
  enum class Stage : std::uint8_t { h2_bare, h2_full, h1_bare, plain };

  struct Answer {
    int status;
    std::string location;
  };

  void connect();
  void ask_health();
  void healthy(const Result<net::H2FetchResponse>& response);
  void enter(Stage stage);
  void request();
  void request_h1();
  void request_h2();
  void answered(const Result<Answer>& answer);
  void judge(int status);
  bool follow(const Answer& answer);
  void finish(Attempt outcome, std::string text);

  [[nodiscard]] net::Address address_of(const std::string& host, std::uint16_t port) const;
  [[nodiscard]] bool bare() const;
  [[nodiscard]] std::string authority() const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields() const;
  [[nodiscard]] std::chrono::milliseconds time_left() const;

  boost::asio::io_context& io_;
  const Loop& loop_;
  const ProbeSpec& spec_;  // of the target that owns this
  net::Address user_;
  Done done_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<net::Socket> socket_;
  std::shared_ptr<TrustingTlsClient> tls_;
  std::unique_ptr<net::Fetch> fetch_;
  std::unique_ptr<net::H2Fetch> h2_fetch_;
  Duration timeout_{};
  TimePoint ends_{};
  Stage stage_ = Stage::plain;
  ProbeUrl url_;
  bool moved_ = false;  // to a URL that names its host, which is then the Host header
  int redirects_ = 0;
  Lifetime alive_;
};

}  // namespace sluice::queue_proxy
