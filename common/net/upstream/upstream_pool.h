#pragma once

#include "common/base/lifetime.h"
#include "common/net/byte_buffer.h"
#include "common/net/h1/h1_codec.h"
#include "common/net/stream.h"
#include "common/net/upstream/dial_pace.h"
#include "common/time/time_point.h"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace sluice::net {

class H2Upstreams;
class UpstreamPool;

/// The calls of a connection to the exchange that uses it.
class UpstreamUser {
 public:
  /// The outstanding read ended: bytes are in `in`, or the connection has ended.
  virtual void on_upstream_read(bool ended) = 0;

 protected:
  ~UpstreamUser() = default;
};

/// One connection to an upstream. While it idles in its pool a read is outstanding, so that a
/// connection closed by the peer leaves the pool at once and is never handed out.
class Upstream {
 public:
  Upstream(UpstreamPool& pool, Stream opened);

  /// Starts a read into `in` unless one is outstanding.
  void want_read();

  [[nodiscard]] bool ended() const { return ended_; }

  /// Whether it ended by an error and not by the peer's proper close.
  [[nodiscard]] bool failed() const { return failed_; }

  [[nodiscard]] bool reused() const { return uses_ > 1; }

  Stream stream;
  ByteBuffer in;
  http::ResponseParser parser;

 private:
  friend class UpstreamPool;

  void on_read(const boost::system::error_code& ec, std::size_t bytes);

  UpstreamPool& pool_;  // owns this connection
  UpstreamUser* user_ = nullptr;
  std::list<std::unique_ptr<Upstream>>::iterator place_;
  std::chrono::steady_clock::time_point idle_since_;
  std::uint64_t uses_ = 0;
  bool reading_ = false;
  bool ended_ = false;
  bool failed_ = false;
  bool idle_ = false;
  bool discarded_ = false;
};

/// A limit that several pools of one thread share.
struct IdleBudget {
  std::size_t most = 0;
  std::size_t kept = 0;  ///< idle connections now, of all of them
};

struct UpstreamLimits {
  std::size_t idle_max = 1000;
  std::chrono::seconds idle_timeout{90};
  std::chrono::milliseconds connect_timeout{20'000};  ///< all tries of DialPlan together
  std::size_t head_bytes_max = 1 << 20;
  std::size_t fields_max = 1000;
  /// Whether a bodiless, repeatable request may be sent again when a reused connection ended
  /// without an answer (queue-proxy.md 15.8). Off: only a request of which no byte was sent is
  /// (activator.md 14.5).
  bool repeat_repeatable = true;
  /// To the target and back, as far as it is known before the first connection.
  Duration round_trip{0};
  IdleBudget* shared = nullptr;  ///< besides idle_max; outlives the pools; null: none
  /// The target speaks HTTP/1.1 alone: the request of an HTTP/2 client is passed on in it once its
  /// body is complete, of 64 KiB at most.
  bool h1_only = false;
};

/// How a pool's connections are encrypted: client sessions that name their protocol by ALPN. Both
/// null: in cleartext. Each session is a new one, so whatever its maker changes counts from the
/// next connection on. They outlive the pool.
struct UpstreamTls {
  TlsSessions* h1 = nullptr;  ///< for connections of HTTP/1.1
  TlsSessions* h2 = nullptr;  ///< for connections of HTTP/2
};

/// Why there is no connection, or no response on it; `text` is what the 502's body quotes.
struct ConnectFailure {
  Error error = Error::upstream_connect;
  std::string text;
  /// The upstream certainly did nothing with the request. Unless some of its body was sent
  /// (Exchange::body_sent), it may be sent elsewhere.
  bool unbegun = false;
  bool timed_out = false;  ///< no answer to the dial in time
};

/// Keep-alive connections to one address. Belongs to one thread.
class UpstreamPool {
 public:
  using Connected = std::function<void(Upstream*, const ConnectFailure&)>;

  UpstreamPool(boost::asio::io_context& io, const Address& target, const UpstreamLimits& limits,
               const UpstreamTls& tls = {});

  /// Every connection must have been given back or discarded, or the io_context must have ended.
  ~UpstreamPool();
  UpstreamPool(const UpstreamPool&) = delete;
  UpstreamPool& operator=(const UpstreamPool&) = delete;

  /// An idle connection, newest first, or null. It belongs to `user` until given back. `checked`:
  /// the kernel is asked first whether the peer has closed it; else only what the loop has seen
  /// counts, which suffices for requests that may be sent again.
  Upstream* take_idle(UpstreamUser& user, bool checked);

  /// Opens a connection for HTTP/1.1, or waits for one that another request leaves behind when many
  /// ask at once (DialPace); `done` is called later, once, unless `cancel_connect` comes first.
  std::uint64_t connect(UpstreamUser& user, Connected done);

  /// The same, and certainly an unused connection.
  std::uint64_t connect_fresh(UpstreamUser& user, Connected done) {
    return dial(user, tls_.h1, std::move(done));
  }

  void cancel_connect(std::uint64_t attempt);

  /// Returns a connection whose message has ended cleanly on both sides.
  void give_back(Upstream& upstream);

  /// Closes a connection that cannot be used again.
  void discard(Upstream& upstream);

  /// Closes idle connections and stops keeping new ones.
  void close();

  /// Closes the connections of HTTP/1.1 that idle now.
  void close_idle() {
    while (!idle_.empty()) discard(*idle_.back());
  }

  /// Connections of HTTP/2 to the same address, shared by many requests.
  [[nodiscard]] H2Upstreams& h2();

  [[nodiscard]] const Address& target() const { return target_; }

  /// The target as a Host: `localhost` for a Unix socket.
  [[nodiscard]] const std::string& authority() const { return authority_; }

  [[nodiscard]] const UpstreamLimits& limits() const { return limits_; }

  [[nodiscard]] std::size_t idle() const { return idle_.size(); }

  /// To the target and back, smoothed over the connections made; zero: not known, or a Unix socket.
  [[nodiscard]] Duration round_trip() const { return round_trip_; }

  /// A limit that a near target meets, as a distant one must be granted it: plus that many round
  /// trips.
  [[nodiscard]] Duration within(Duration limit, int round_trips) const {
    return limit + round_trip_ * round_trips;
  }

  /// Whether nothing of the pool is in use or still ending; then it may be destroyed.
  [[nodiscard]] bool at_rest() const;

 private:
  friend class Upstream;
  friend class H2Upstream;
  struct Attempt;

  std::uint64_t dial(UpstreamUser& user, TlsSessions* tls, Connected done);
  Attempt& new_attempt(UpstreamUser& user, TlsSessions* tls, Connected done);
  void hand_over(Upstream& upstream);
  void take_over(Attempt& attempt);
  void pace();
  void start_try(Attempt& attempt);
  void on_connect(Attempt& attempt, Socket& socket, int round, const boost::system::error_code& ec);
  void connected(Attempt& attempt, Socket& socket);
  void shake_hands(Attempt& attempt);
  void on_dial_timer(Attempt& attempt);
  void dial_again_after(Attempt& attempt, Duration pause);
  void rest(Attempt& attempt);
  void fail(Attempt& attempt, const boost::system::error_code& ec);
  void fail(Attempt& attempt, ConnectFailure failure);
  void succeed(Attempt& attempt);
  void release(Attempt& attempt);
  void note_idle(Upstream& upstream, bool idle);
  void erase(Upstream& upstream);
  void arm_sweep();
  void sweep();

  boost::asio::io_context& io_;  // outlives the pool
  Address target_;
  std::string authority_;
  Endpoint endpoint_;
  UpstreamLimits limits_;
  UpstreamTls tls_;
  Duration round_trip_;
  BlockPool blocks_;  // outlives the connections
  std::list<std::unique_ptr<Upstream>> all_;
  std::vector<Upstream*> idle_;  // oldest first
  std::list<std::unique_ptr<Attempt>> attempts_;
  std::uint64_t next_attempt_ = 1;
  DialPace pace_;
  std::deque<Attempt*>
      crowd_;  // attempts that wait for their pace, or for a connection left behind
  boost::asio::steady_timer pace_timer_;
  bool pacing_ = false;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;
  bool closed_ = false;
  std::unique_ptr<H2Upstreams> h2_;  // null until the first request of HTTP/2
  Lifetime alive_;
};

}  // namespace sluice::net
