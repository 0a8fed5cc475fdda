#pragma once

#include "common/base/lifetime.h"
#include "common/http/header_block.h"
#include "common/http/message.h"
#include "common/net/h1/h1_leg.h"
#include "common/net/h2/h2_upstream.h"
#include "common/net/upstream/upstream_pool.h"
#include "common/time/time_point.h"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::activator {

struct PoolProbeRequest {
  /// Complete request head of HTTP/1.1 with its empty line; a GET. It must not request to close the
  /// connection, or the first real request has to dial again.
  std::string head;

  /// Limits of the two halves. Each grows with the round trips it consists of, as far as the pool
  /// knows them (activator.md 13): a distant pod is slow, not unready.
  std::chrono::milliseconds connect_timeout{1000};
  std::chrono::milliseconds response_timeout{300};

  std::size_t body_max = 256;  ///< in bytes; more is a response, but no connection to keep
};

/// What a probe found out.
struct PoolProbeResult {
  enum class End : std::uint8_t {
    answered,   ///< a whole response came; everything else below is about it
    refused,    ///< no connection: refused, unreachable, or the TLS handshake failed
    timed_out,  ///< no connection or no whole response in time
    reset,      ///< the connection ended before the whole response
    invalid,    ///< what came is no response, or its body is longer than allowed
  };

  End end = End::answered;
  int status = 0;            ///< 0 unless answered
  std::string body;          ///< decoded
  std::string sluice_error;  ///< value of Sluice-Error, as our own sidecar sends it; empty: absent
  std::string text;          ///< of a failure, for people
};

/// One GET on an idle connection of a pool, or a new one. After a whole response the connection
/// goes back to the pool, so that the first real request of HTTP/1 finds it there. Destroying the
/// probe cancels it. The pool outlives it.
class PoolProbe final : private net::H2UpstreamUser {
 public:
  using Done = std::function<void(const PoolProbeResult&)>;

  /// `done` is called once, later, unless the probe is destroyed first; it may destroy the probe.
  PoolProbe(boost::asio::io_context& io, net::UpstreamPool& pool, PoolProbeRequest request,
            Done done);
  ~PoolProbe();
  PoolProbe(const PoolProbe&) = delete;
  PoolProbe& operator=(const PoolProbe&) = delete;

 private:
  Body read_request_body(char* to, std::size_t room) override;
  [[nodiscard]] const http::HeaderBlock& request_trailers() const override;

  [[nodiscard]] http::ResponseHead& response_head() override { return response_; }

  void on_upstream_sent() override;

  void on_upstream_interim() override {}

  void on_upstream_head(bool /*ended*/) override {}

  void on_upstream_data(std::string_view content) override;

  void on_upstream_trailer(std::string_view /*name*/, std::string_view /*value*/) override {}

  void on_upstream_end() override;
  void on_upstream_failed(const net::H2Failure& failure) override;

  void limit(std::chrono::milliseconds allowed, int round_trips);
  void on_late();
  void finish(PoolProbeResult result);

  net::UpstreamPool& pool_;
  PoolProbeRequest request_;
  Done done_;
  boost::asio::steady_timer timer_;
  unsigned waits_ = 0;  // of timer_; the newest counts
  http::ResponseHead response_;
  http::HeaderBlock trailers_;  // none
  std::string body_;
  std::unique_ptr<net::H1Leg> leg_;  // null once the outcome is known
  Lifetime alive_;
};

}  // namespace sluice::activator
