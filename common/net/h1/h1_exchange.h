#pragma once

#include "common/http/websocket_frames.h"
#include "common/net/byte_buffer.h"
#include "common/net/h1/h1_codec.h"
#include "common/net/server/connection.h"
#include "common/net/server/exchange.h"
#include "common/net/server/exchange_timers.h"
#include "common/net/stream.h"

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace sluice::net {

class ProxyServer;

/// An HTTP/1 client connection and the request it is serving: reads heads, asks the gateway, relays
/// both bodies in bounded memory and full duplex, keeps the timers, and notices a client that
/// leaves.
///
///   idle ─► reading head ─► begin ─► held ─► forwarding ─► relaying ─► end ─► idle
///                              └────────┴── respond ──────────┼────────┘
///                                                           tunnel ─► end ─► closed
///
/// A read is outstanding on the client whenever its buffer is free and the body, if any, is wanted:
/// it brings body bytes, the next request, or the news that the client has gone.
class H1Exchange final : public Connection, public Exchange, private UpstreamUser {
 public:
  /// `accepted`: when the connection was, if not just now.
  H1Exchange(ProxyServer& server, Stream stream, TimePoint accepted = {});
  ~H1Exchange() override;
  H1Exchange(const H1Exchange&) = delete;
  H1Exchange& operator=(const H1Exchange&) = delete;

  void start() override;

  /// A WebSocket's client gets a Close frame; other tunnels and requests are left alone.
  void close_tunnel() override;

  [[nodiscard]] std::uint64_t moved() const override;
  [[nodiscard]] std::size_t memory() const override;
  [[nodiscard]] std::optional<std::uint32_t> peer_user() override;
  void set_timeouts(const Timeouts& timeouts) override;
  void hold() override;
  void forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) override;
  void respond(const http::OwnResponse& response) override;

  /// The kernel reports that the client has finished sending.
  void on_hangup();

 private:
  enum class Phase : std::uint8_t {
    head,
    switching,  ///< a request that asks for h2c is read to its end
    held,
    connecting,
    relaying,
    tunnel,
    answering,
    closing,
    closed,
  };
  /// What the one timer of the connection waits for: its own business, or the request's.
  enum class Wake : std::uint8_t { none, head, unused, linger, peer, expect, body, write, request };

  /// The state of a connection that has switched protocols.
  struct Tunnel {
    http::WebSocketFrames frames;  ///< of what went to the client
    bool websocket = false;
    bool closing = false;        ///< the client gets a Close at the next end of a frame
    bool close_sent = false;     ///< and then nothing more
    bool upstream_told = false;  ///< nothing more goes upstream
    bool client_told = false;    ///< nothing more goes to the client
  };

  struct Due {
    TimePoint at = TimePoint::max();
    Wake wake = Wake::none;
    Timer timer = Timer::none;  ///< with Wake::request
  };

  bool close_if_idle() override;

  void drain() override {}

  void abandon() override;
  bool give_way() override;

  void on_client_read(const boost::system::error_code& ec, std::size_t bytes);
  void on_client_end();
  void check_peer();
  void leave();
  void watch();
  void unwatch();
  void want_client_read();
  void advance();
  bool read_head();
  void glean_head();
  [[nodiscard]] bool grow_head();
  void begin();

  [[nodiscard]] bool may_be_h2() const;
  bool try_h2();
  void become_h2();
  [[nodiscard]] bool wants_h2c() const;
  void begin_switch();
  void continue_switch();
  void hand_over(std::unique_ptr<Connection> successor);
  [[nodiscard]] bool expects_continue() const;
  [[nodiscard]] bool awaits_continue() const;

  void attach(Upstream& upstream);
  void on_connected(Upstream* upstream, const ConnectFailure& failure);
  void on_upstream_read(bool ended) override;
  void gather_upload();
  void pump_request();
  void push_request();
  void refuse_body(std::string_view why);
  void request_written();
  void on_upstream_written(const boost::system::error_code& ec, std::size_t bytes);
  void note_body_progress();
  void pump_response();
  bool take_response_head();
  bool relay_interim();
  bool take_switch();
  [[nodiscard]] http::Fed next_piece();
  bool relay_body();
  bool await_body(std::size_t used);
  void lose_body(Error error, std::string text);
  void response_complete();
  void client_written();
  bool write_client(std::string_view first, std::string_view second);
  void continue_client_write();
  void note_write_progress();
  bool write_upstream();
  void continue_upstream_write();
  void connect_upstream();
  void upstream_lost(Error error, std::string text);
  void tell_lost(const ConnectFailure& failure);

  void begin_tunnel(bool websocket);
  void pump_to_client();
  void pump_to_upstream();
  [[nodiscard]] std::string_view next_to_client();
  [[nodiscard]] bool put_close_frame();
  void sent_to_client();
  void sent_to_upstream();
  void end_of_client();
  void end_of_upstream();
  void end_tunnel(const Outcome& outcome);
  void cut_tunnel(Timer timer);

  void detach_upstream(bool reusable);

  void finish();
  void drop_slice();
  void next_request();
  void give_memory_back();
  void abort(const Outcome& outcome);
  void conclude(const Outcome& outcome);
  void answer(const http::OwnResponse& response, Timer fired = Timer::none);
  void tell(const http::OwnResponse& response, Timer fired);
  void close_gently();
  void close();
  void release_if_done();

  [[nodiscard]] ExchangeTimers::Sent sent() const;
  [[nodiscard]] Due next_due() const;
  void arm_timer();
  void on_timer();
  void on_wake(const Due& due);
  void on_late_head();
  void on_late_body();
  void on_stuck_client();
  void refuse_late(Timer fired, const std::string& facts);
  void on_timeout(Timer timer);

  ProxyServer& server_;  // owns this exchange
  Stream stream_;
  boost::asio::steady_timer timer_;

  // The client's side.
  ByteBuffer in_;
  http::RequestParser parser_;
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
  std::unique_ptr<Tunnel> tunnel_;  // from a 101 to the end of the connection

  ExchangeTimers timers_;
  TimePoint head_due_{};
  TimePoint peer_check_at_{};
  TimePoint expect_due_{};
  TimePoint body_due_{};
  TimePoint write_due_{};  // by when the client must take more of what waits for it
  TimePoint linger_due_{};
  TimePoint unused_due_{};
  TimePoint timer_at_{};
  Duration peer_check_step_{};

  int operations_ = 0;       // asynchronous operations that still point here
  std::uint32_t lease_ = 0;  // marks late writes of an upstream that was given up
  std::size_t lingered_ = 0;
  Phase phase_ = Phase::head;
  bool fresh_ = true;  // no byte of HTTP/1 has been seen
  bool reading_ = false;
  bool advancing_ = false;
  bool timer_set_ = false;
  bool begun_ = false;   // begin was called and end was not
  bool waited_ = false;  // in a queue
  bool client_ended_ = false;
  bool watched_ = false;
  bool client_writing_ = false;
  bool upstream_writing_ = false;
  bool request_done_ = false;  // every byte of the request was handed to the upstream
  bool request_head_sent_ = false;
  bool request_touched_ = false;  // some byte of the request reached the upstream's socket
  bool retried_stale_ = false;
  bool response_begun_ = false;  // a byte of a response went to the client
  bool response_head_done_ = false;
  bool response_done_ = false;  // all of it is with the client; the upload continues
  bool continued_ = false;      // the client got a 100 of ours
  bool unused_unstamped_ = false;
  bool interim_sent_ = false;  // a 1xx went to the client
  bool closing_after_ = false;
  bool retired_ = false;
};

}  // namespace sluice::net
