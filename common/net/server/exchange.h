#pragma once

#include "common/http/forwarding.h"
#include "common/http/message.h"
#include "common/http/own_response.h"
#include "common/net/upstream/upstream_pool.h"
#include "common/time/time_point.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::net {

/// What a gateway keeps per exchange; made once per connection or stream and used again, so that
/// requests allocate nothing.
class ExchangeState {
 public:
  virtual ~ExchangeState() = default;
};

/// The revision's timers (queue-proxy.md 8); absent = off. All count from the request's head.
struct Timeouts {
  std::optional<Duration> max;
  std::optional<Duration> response_start;
  std::optional<Duration> idle;
  /// `max` bounds the time to the response's first byte only, and after an upgrade that of the
  /// service is its first one: the 101 counts for neither `max` nor `response_start` (15.19).
  bool until_first_byte = false;
};

/// Which timer fired: one of those, or the server's own for a head or a body that does not come, or
/// for a response that the client does not take.
enum class Timer : std::uint8_t { none, max, response_start, idle, header, body, write };

/// How an exchange ended.
struct Outcome {
  enum class End : std::uint8_t {
    answered,     ///< the upstream's response went out whole
    own,          ///< an own response (a refusal, a probe answer) was made
    timed_out,    ///< a timer fired: 504 or 408, or aborted when the response had begun
    aborted,      ///< the upstream failed after the response had begun
    client_gone,  ///< the client left
  };

  End end = End::answered;
  int status = 0;              ///< the status sent to the client; 0 when none was
  std::optional<Error> error;  ///< the cause when the response, or its end, is ours
  Timer timer = Timer::none;   ///< with End::timed_out
};

/// What an exchange has moved so far.
struct Traffic {
  std::uint64_t request_bytes = 0;   ///< content of the request's body that went upstream
  std::uint64_t response_bytes = 0;  ///< content of the response's body that went to the client
  TimePoint dispatched{};            ///< when it was first forwarded; TimePoint{} when it never was
};

/// What to do with the head of an upstream's response.
enum class ResponseVerdict : std::uint8_t {
  forward,
  retried,  ///< the gateway gave the exchange a new verdict; this response is dropped
};

/// One request of a client, whatever version of HTTP carries it: what a gateway sees of it and can
/// do with it. Belongs to one thread.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] const http::RequestHead& request() const { return head_; }

  [[nodiscard]] ExchangeState& state() { return *state_; }

  /// Numeric address of the client, without port; empty for a Unix socket.
  [[nodiscard]] std::string_view peer_ip() const { return peer_ip_; }

  [[nodiscard]] bool peer_is_local() const { return peer_local_; }

  /// The uid of the process at the client's end, where the kernel reports it: of a client of this
  /// machine that still holds its connection. Each call asks the kernel: some microseconds.
  [[nodiscard]] virtual std::optional<std::uint32_t> peer_user() { return std::nullopt; }

  /// Whether the client came over TLS.
  [[nodiscard]] bool secure() const { return secure_; }

  [[nodiscard]] TimePoint arrived() const { return arrived_; }

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

  /// Bytes of bodies and of an upgraded connection that have gone either way by now, where
  /// traffic() may count them only at the end.
  [[nodiscard]] virtual std::uint64_t moved() const {
    return traffic_.request_bytes + traffic_.response_bytes;
  }

  /// Whether any byte of the request's body has gone to an upstream.
  [[nodiscard]] bool body_sent() const { return body_sent_; }

  /// Bytes of memory this exchange holds, and needs to be sent on: its head twice, what has come of
  /// its body, its buffers. For bounds on that; where it grows, Gateway::grew is called.
  [[nodiscard]] virtual std::size_t memory() const = 0;

  virtual void set_timeouts(const Timeouts& timeouts) = 0;

  /// The request waits; the gateway will call forward or respond. The client is watched meanwhile.
  virtual void hold() = 0;

  /// Sends the request on, in the client's version of HTTP unless the pool is for another. The
  /// views in `rewrite` are used during the call only.
  virtual void forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) = 0;

  /// Answers without an upstream.
  virtual void respond(const http::OwnResponse& response) = 0;

 protected:
  http::RequestHead head_;
  std::unique_ptr<ExchangeState> state_;
  std::string peer_ip_;
  TimePoint arrived_{};
  Traffic traffic_;
  bool peer_local_ = false;
  bool secure_ = false;
  bool body_sent_ = false;
};

/// Decides how each request is handled. All calls come on the server's thread; `begin` is answered
/// by exactly one of Exchange::forward, respond or hold, there or later.
class Gateway {
 public:
  virtual ~Gateway() = default;

  [[nodiscard]] virtual std::unique_ptr<ExchangeState> make_state() = 0;
  virtual void begin(Exchange& exchange) = 0;

  /// More of the body of a held exchange has come, and its memory has grown: the gateway may
  /// respond to it in here.
  virtual void grew(Exchange& /*exchange*/) {}

  /// No response byte came from the upstream it was forwarded to. True: the gateway has given a new
  /// verdict. False: the client gets a 502 with the failure's text.
  virtual bool upstream_failed(Exchange& exchange, const ConnectFailure& failure) = 0;

  /// The head of the final response is there; lines appended to `extra` are added to it.
  virtual ResponseVerdict response(Exchange& exchange, const http::ResponseHead& head,
                                   std::string& extra) = 0;

  /// Exactly once per `begin`: the exchange no longer needs its place and its upstream.
  virtual void end(Exchange& exchange, const Outcome& outcome) = 0;

  /// A request was refused before `begin`, since it could not be read: malformed, too large, too
  /// slow. `exchange.request()` says the major version; of the rest the target alone is of use, as
  /// it came and in part, and is empty where no request line was read.
  virtual void refused(Exchange& /*exchange*/, const Outcome& /*outcome*/) {}

  /// An error of ours is about to be sent, before `end` or `refused`: the gateway may add what it
  /// knows of the request to Sluice-Error, as in "; queued=120ms", and header lines to `extra`.
  virtual void explain(Exchange& /*exchange*/, http::OwnResponse& /*response*/) {}

  /// Text of a 504, and the program named in Sluice-Error.
  [[nodiscard]] virtual std::string_view timeout_text() const = 0;
  [[nodiscard]] virtual std::string_view place() const = 0;
};

}  // namespace sluice::net
