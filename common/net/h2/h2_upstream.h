#pragma once

#include "common/base/lifetime.h"
#include "common/http/header_block.h"
#include "common/http/message.h"
#include "common/net/h2/h2_link.h"
#include "common/net/upstream/upstream_pool.h"

#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

namespace sluice::net {

class H2Upstreams;

/// Why an HTTP/2 request got no whole response.
struct H2Failure {
  ConnectFailure cause;
  bool unprocessed = false;  ///< the upstream certainly did nothing with it
  bool reused = false;       ///< the connection had served other requests before
};

/// The calls of an upstream connection to the stream that uses it.
class H2UpstreamUser {
 public:
  struct Body {
    std::size_t size = 0;
    bool ended = false;
  };

  /// The next bytes of the request's body. Size 0 and not ended: none now, resume() follows.
  virtual Body read_request_body(char* to, std::size_t room) = 0;

  /// Trailers of the request; called when the body has ended.
  [[nodiscard]] virtual const http::HeaderBlock& request_trailers() const = 0;

  /// Where the head of the response is put together.
  [[nodiscard]] virtual http::ResponseHead& response_head() = 0;

  /// The request's head is on a connection; called by H1Leg alone.
  virtual void on_upstream_sent() {}

  virtual void on_upstream_interim() = 0;
  /// `ended`: nothing follows it; on_upstream_end comes next.
  virtual void on_upstream_head(bool ended) = 0;

  /// Content; to be acknowledged by H2Upstream::consumed as it leaves.
  virtual void on_upstream_data(std::string_view content) = 0;

  /// A field behind the body.
  virtual void on_upstream_trailer(std::string_view name, std::string_view value) = 0;

  /// The response is complete; the connection has dropped the user.
  virtual void on_upstream_end() = 0;

  /// It never will be; the connection has dropped the user.
  virtual void on_upstream_failed(const H2Failure& failure) = 0;

 protected:
  ~H2UpstreamUser() = default;
};

/// One HTTP/2 connection to an upstream, shared by many streams. Prior knowledge: no upgrade is
/// tried and nothing falls back to HTTP/1.
class H2Upstream final : private H2Link, private UpstreamUser {
 public:
  /// At once, whatever more the peer allows.
  static constexpr std::size_t kStreamsMax = 250;

  /// Of each stream's response, in bytes, until it grows.
  static constexpr std::size_t kFirstWindow = 16 * 1024;

  H2Upstream(H2Upstreams& pool, boost::asio::io_context& io, std::size_t head_bytes_max);
  ~H2Upstream() = default;

  /// Sends a request; returns the stream's number.
  std::int32_t submit(H2UpstreamUser& user, const http::HeaderBlock& head, bool has_body);

  /// There is more of the request's body, or its end.
  void resume(std::int32_t stream);

  /// Content was passed to the client: the upstream may send as much again.
  void consumed(std::int32_t stream, std::size_t bytes);

  /// Lets the upstream send `size` bytes of the body before any is acknowledged; more than before.
  void grow_window(std::int32_t stream, std::size_t size);

  /// The user leaves; the upstream gets a reset unless the stream has ended.
  void forget(std::int32_t stream);

  [[nodiscard]] bool has_room() const;

 private:
  friend class H2Upstreams;
  struct Callbacks;

  /// A stream that the session has not closed yet.
  struct Open {
    std::int32_t stream;
    H2UpstreamUser* user;  ///< null once it has left
  };

  void dial();
  void settle();
  void give_up(const ConnectFailure& failure);

  void on_upstream_read(bool /*ended*/) override {}

  void on_link_end() override;
  void on_link_released() override;
  [[nodiscard]] H2UpstreamUser* user_of(std::int32_t stream) const;
  void release(std::int32_t stream);
  void closed(std::int32_t stream, std::uint32_t code);
  void fail_all(const H2Failure& failure);
  void retire_if_spent();
  [[nodiscard]] ConnectFailure lost() const;

  H2Upstreams& pool_;  // owns this connection
  std::list<std::unique_ptr<H2Upstream>>::iterator place_;
  std::vector<Open> streams_;   // oldest first, so ascending
  std::uint64_t dialling_ = 0;  // an attempt of the dialer's; 0: none
  std::size_t head_bytes_max_;
  std::size_t head_bytes_ = 0;     // of the block being read
  std::int32_t last_sent_ = 0;     // newest stream whose head was written
  std::uint64_t served_ = 0;       // responses completed
  bool settled_ = false;           // the peer's SETTINGS came
  std::size_t allowed_ = 0;        // streams at once, once settled
  bool reading_trailers_ = false;  // the block being read follows a body
  bool going_away_ = false;        // takes no new streams
  bool idle_once_ = false;         // was idle when the last sweep came
};

/// The HTTP/2 connections to one address: one is shared until its peer's stream limit is reached.
class H2Upstreams {
 public:
  H2Upstreams(boost::asio::io_context& io, UpstreamPool& dialer);
  ~H2Upstreams();
  H2Upstreams(const H2Upstreams&) = delete;
  H2Upstreams& operator=(const H2Upstreams&) = delete;

  /// A connection with room for one stream more; a new one is dialled when there is none.
  [[nodiscard]] H2Upstream& with_room();

  /// Ends idle connections; the others as they become idle.
  void close();

  [[nodiscard]] bool at_rest() const { return connections_.empty(); }

 private:
  friend class H2Upstream;

  void retire(H2Upstream& connection);
  void arm_sweep();
  void sweep();

  boost::asio::io_context& io_;  // outlives this
  UpstreamPool& dialer_;         // owns this
  std::list<std::unique_ptr<H2Upstream>> connections_;
  std::list<std::unique_ptr<H2Upstream>> retired_;
  boost::asio::steady_timer sweep_timer_;
  std::size_t allowed_ = H2Upstream::kStreamsMax;  // streams at once, as the newest SETTINGS said
  bool settled_ = false;                           // such SETTINGS came, ever
  bool sweeping_ = false;
  bool closed_ = false;
  Lifetime alive_;
};

}  // namespace sluice::net
