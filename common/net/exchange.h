#pragma once

#include "common/http/forwarding.h"
#include "common/http/h1_codec.h"
#include "common/http/own_response.h"
#include "common/net/byte_buffer.h"
#include "common/net/upstream_pool.h"
#include "common/time/time_point.h"

#include <boost/asio/steady_timer.hpp>

#include <list>
#include <memory>
#include <optional>
#include <string>

namespace sluice::net {

class Exchange;
class ProxyServer;

/// What a gateway keeps per connection; made once per connection, so that requests allocate
/// nothing.
class ExchangeState {
 public:
  virtual ~ExchangeState() = default;
};

/// The revision's timers (queue-proxy.md 8); absent = off. All count from the request's head.
struct Timeouts {
  std::optional<Duration> max;
  std::optional<Duration> response_start;
  std::optional<Duration> idle;
};

/// How an exchange ended.
struct Outcome {
  enum class End : std::uint8_t {
    answered,     ///< the upstream's response went out whole
    own,          ///< an own response (a refusal, a probe answer) was made
    timed_out,    ///< a timer fired: 504, or aborted when the response had begun
    aborted,      ///< the upstream failed after the response had begun
    client_gone,  ///< the client left
  };

  End end = End::answered;
  int status = 0;  ///< what the client was told; 0 when nothing was
};

/// What to do with the head of an upstream's response.
enum class ResponseVerdict : std::uint8_t {
  forward,
  retried,  ///< the gateway gave the exchange a new verdict; this response is dropped
};

/// Decides what becomes of each request. All calls come on the server's thread; `begin` is answered
/// by exactly one of Exchange::forward, respond or hold, there or later.
class Gateway {
 public:
  virtual ~Gateway() = default;

  [[nodiscard]] virtual std::unique_ptr<ExchangeState> make_state() = 0;
  virtual void begin(Exchange& exchange) = 0;

  /// No response byte came from the upstream it was forwarded to. True: the gateway has given a new
  /// verdict. False: the client gets a 502 with the failure's text.
  virtual bool upstream_failed(Exchange& exchange, const ConnectFailure& failure) = 0;

  /// The head of the final response is there; lines appended to `extra` are added to it.
  virtual ResponseVerdict response(Exchange& exchange, const http::ResponseHead& head,
                                   std::string& extra) = 0;

  /// Exactly once per `begin`: the exchange needs its place and its upstream no more.
  virtual void end(Exchange& exchange, const Outcome& outcome) = 0;

  /// Text of a 504, and who says so in Sluice-Error.
  [[nodiscard]] virtual std::string_view timeout_text() const = 0;
  [[nodiscard]] virtual std::string_view place() const = 0;
};

/// One client connection and the request it is serving: reads heads, asks the gateway, relays both
/// bodies in bounded memory and full duplex, keeps the timers, and notices a client that leaves.
///
///   idle ─► reading head ─► begin ─► held ─► forwarding ─► relaying ─► end ─► idle
///                              └────────┴── respond ───────────────────┘
///
/// A read is outstanding on the client whenever its buffer is free and the body, if any, is wanted:
/// it brings body bytes, the next request, or the news that the client has gone.
class Exchange final : private UpstreamUser {
 public:
  Exchange(ProxyServer& server, Socket socket);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const http::RequestHead& request() const { return head_; }

  [[nodiscard]] ExchangeState& state() { return *state_; }

  [[nodiscard]] std::string_view peer_ip() const { return peer_ip_; }

  [[nodiscard]] bool peer_is_local() const { return peer_local_; }

  [[nodiscard]] TimePoint arrived() const { return arrived_; }

  /// Whether any byte of the request's body has gone to an upstream.
  [[nodiscard]] bool body_sent() const { return body_sent_; }

  /// Bytes of memory this connection holds; for bounds on waiting requests.
  [[nodiscard]] std::size_t memory() const;

  void set_timeouts(const Timeouts& timeouts);

  /// The request waits; the gateway will call forward or respond. The client is watched meanwhile.
  void hold();

  /// Sends the request on. The views in `rewrite` are used during the call only.
  void forward(UpstreamPool& pool, const http::RequestRewrite& rewrite);

  /// Answers without an upstream.
  void respond(const http::OwnResponse& response);

 private:
  friend class ProxyServer;

  enum class Phase : std::uint8_t {
    head,
    held,
    connecting,
    relaying,
    answering,
    closing,
    closed,
  };
  enum class Timer : std::uint8_t {
    none,
    head,
    max,
    response_start,
    idle,
    peer,
    expect,
    linger,
    unused,
  };

  struct Due {
    TimePoint at;
    Timer timer;
  };

  void start();
  void on_client_read(const boost::system::error_code& ec, std::size_t bytes);
  void on_client_end();
  void on_hangup();
  void check_peer();
  void leave();
  void watch();
  void unwatch();
  void want_client_read();
  void advance();
  bool read_head();
  void begin();
  void settle_held();

  void attach(Upstream& upstream);
  void on_connected(Upstream* upstream, const ConnectFailure& failure);
  void on_upstream_read(bool ended) override;
  void pump_request();
  void refuse_body();
  void request_written();
  void pump_response();
  bool take_response_head();
  bool relay_interim();
  bool relay_body();
  void client_written();
  bool write_client(std::string_view first, std::string_view second);
  void continue_client_write();
  bool write_upstream();
  void continue_upstream_write();
  void connect_upstream();
  void upstream_lost(Error error, std::string text);
  void detach_upstream(bool reusable);

  void finish();
  void drop_slice();
  void next_request();
  void abort(Outcome::End end);
  void conclude(Outcome::End end, int status);
  void answer(const http::OwnResponse& response, Outcome::End end);
  void close_gently();
  void close();
  void release_if_done();

  [[nodiscard]] Due next_due() const;
  void arm_timer();
  void on_timer();
  void on_timeout(Timer timer);

  ProxyServer& server_;  // owns this exchange
  Socket socket_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<ExchangeState> state_;
  std::string peer_ip_;
  std::list<std::unique_ptr<Exchange>>::iterator place_;

  // The client's side.
  ByteBuffer in_;
  http::RequestParser parser_;
  http::RequestHead head_;
  std::string out_;                // own response, or the rewritten head of the upstream's
  std::string_view client_first_;  // what a waiting write still has to send
  std::string_view client_second_;
  std::size_t consume_after_write_ = 0;

  // The upstream's side.
  UpstreamPool* pool_ = nullptr;  // the gateway's; outlives the exchange's use of it
  Upstream* upstream_ = nullptr;  // lent by pool_
  std::uint64_t connect_attempt_ = 0;
  std::string request_out_;  // the rewritten head, kept for a retry
  std::string_view upstream_first_;
  std::string_view upstream_second_;
  std::size_t request_slice_ = 0;
  http::ResponseHead response_;
  http::ResponseRewrite response_rewrite_;
  std::string decoded_;
  std::string extra_;

  Timeouts timeouts_;
  TimePoint arrived_{};
  TimePoint last_write_{};
  TimePoint head_due_{};
  TimePoint peer_check_at_{};
  TimePoint expect_due_{};
  TimePoint linger_due_{};
  TimePoint unused_due_{};
  TimePoint timer_at_{};
  Duration peer_check_step_{};

  int operations_ = 0;       // asynchronous operations that still point here
  std::uint32_t lease_ = 0;  // tells a late write of an upstream given up from a present one
  std::size_t lingered_ = 0;
  Phase phase_ = Phase::head;
  bool peer_local_ = false;
  bool reading_ = false;
  bool advancing_ = false;
  bool timer_set_ = false;
  bool begun_ = false;  // begin was called and end was not
  bool client_ended_ = false;
  bool watched_ = false;
  bool client_writing_ = false;
  bool upstream_writing_ = false;
  bool request_done_ = false;  // every byte of the request was handed to the upstream
  bool request_head_sent_ = false;
  bool request_touched_ = false;  // some byte of the request reached the upstream's socket
  bool body_sent_ = false;
  bool retried_stale_ = false;
  bool response_begun_ = false;  // a byte of a response went to the client
  bool response_head_done_ = false;
  bool interim_sent_ = false;  // a 1xx went to the client
  bool closing_after_ = false;
  bool retired_ = false;
};

}  // namespace sluice::net
