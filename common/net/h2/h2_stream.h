#pragma once

#include "common/net/body_queue.h"
#include "common/net/h1/h1_leg.h"
#include "common/net/h2/h2_upstream.h"
#include "common/net/server/exchange.h"
#include "common/net/server/exchange_timers.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace sluice::net {

class H2Connection;

/// One request on an HTTP/2 client connection. Both bodies pass through a queue of a window's size
/// at most: what one side sends is acknowledged only as the other side takes it.
///
///   reading head ─► begin ─► held ─► relaying ─► end ─► closed
///                     └───────┴── respond ───────┘
class H2Stream final : public Exchange, private H2UpstreamUser {
 public:
  H2Stream(H2Connection& connection, std::unique_ptr<ExchangeState> state);
  ~H2Stream() override;
  H2Stream(const H2Stream&) = delete;
  H2Stream& operator=(const H2Stream&) = delete;

  [[nodiscard]] std::size_t memory() const override;
  [[nodiscard]] std::optional<std::uint32_t> peer_user() override;
  void set_timeouts(const Timeouts& timeouts) override;
  void hold() override;
  void forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) override;
  void respond(const http::OwnResponse& response) override;

 private:
  friend class H2Connection;
  friend class H1Leg;

  enum class Phase : std::uint8_t { head, held, relaying, answering, closed };

  /// Of a head, in bytes: what any stream may take, and a stream that waits for its next request
  /// may keep.
  static constexpr std::size_t kUsualHead = 4 * 1024;

  // The client's side; H2Connection calls these.
  void open(std::int32_t id, std::string_view peer_ip, bool peer_local);
  void open_upgraded(http::RequestHead head, std::string_view body);
  void on_head(bool ended);
  void on_client_data(std::string_view content);
  void on_client_end();
  void on_closed();
  /// The session resets the stream, since its client broke the protocol.
  void on_broken();
  /// The session cannot send the head or the trailers of the response.
  void on_unsendable();
  [[nodiscard]] Body read_response(char* to, std::size_t room);
  [[nodiscard]] ExchangeTimers::Due next_due() const;
  void on_timeout(Timer timer);
  /// What the head or the trailers that are being read take.
  [[nodiscard]] std::size_t head_memory() const;
  /// Others need that memory: it is given back, and the request is refused.
  void crowd_out();

  // The upstream's side.
  Body read_request_body(char* to, std::size_t room) override;

  [[nodiscard]] const http::HeaderBlock& request_trailers() const override { return trailers_in_; }

  [[nodiscard]] http::ResponseHead& response_head() override { return response_; }

  void on_upstream_interim() override;
  void on_upstream_head(bool ended) override;
  void on_upstream_data(std::string_view content) override;
  void on_upstream_trailer(std::string_view name, std::string_view value) override;
  void on_upstream_end() override;
  void on_upstream_failed(const H2Failure& failure) override;

  void begin();
  void submit_upstream();
  void forward_h1(const http::RequestRewrite& rewrite);
  void send_h1_when_whole();
  void detach();
  void wake_upload();
  void start_response(const http::HeaderBlock& block, bool has_body);
  void answer(const http::OwnResponse& response, Timer fired);
  void more_response();
  void abort(H2Error code, const Outcome& outcome);
  void conclude(const Outcome& outcome);
  [[nodiscard]] bool is_grpc() const;
  void grow_window(std::size_t to);
  void grow_upload();
  void give_window_back();
  void give_memory_back();
  void note_write_progress();

  H2Connection& connection_;  // owns this stream
  std::int32_t id_ = 0;
  std::size_t place_ = 0;    // among the connection's streams
  http::HeaderBlock block_;  // of the request upstream, kept for a repeat, then of the response
  std::string extra_;

  // From client to upstream.
  BodyQueue in_;
  http::HeaderBlock trailers_in_;
  std::size_t trailer_bytes_ = 0;

  // From upstream, or from ourselves, to client.
  BodyQueue out_;
  http::HeaderBlock trailers_out_;
  http::ResponseHead response_;

  UpstreamPool* pool_ = nullptr;    // the gateway's; outlives the exchange's use of it
  H2Upstream* upstream_ = nullptr;  // lent by pool_
  std::int32_t upstream_id_ = 0;
  std::size_t window_ = 0;         // of the response, towards the container
  std::size_t claimed_ = 0;        // of the connection's budget, by both windows
  std::unique_ptr<H1Leg> h1_leg_;  // of a request that is passed on, or came, as HTTP/1
  std::string h1_request_;         // its head, until its body is complete

  ExchangeTimers timers_;
  TimePoint linger_due_{};  // by when the client must have taken the answer
  TimePoint write_due_{};   // by when it must take more of the response
  Phase phase_ = Phase::head;
  bool begun_ = false;
  bool waited_ = false;
  bool client_done_ = false;       // the request is complete
  bool upstream_starved_ = false;  // the upstream waits for more of the body
  bool repeated_ = false;
  bool interim_sent_ = false;
  bool response_begun_ = false;
  bool head_only_ = false;          // the response is its head
  bool response_complete_ = false;  // everything of the response is in out_
  bool client_starved_ = false;     // the client's side waits for more of the response
  bool window_grown_ = false;       // the client's, for the request's body
  bool reading_trailers_ = false;
  bool crowded_out_ = false;    // its head was dropped for others
  std::string_view too_large_;  // a refused head: which limit, as "limit=NAME"
};

}  // namespace sluice::net
