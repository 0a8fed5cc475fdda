#pragma once

#include "common/net/h2/h2_frame_walk.h"
#include "common/net/h2/h2_link.h"
#include "common/net/h2/h2_past_streams.h"
#include "common/net/h2/h2_stream.h"
#include "common/net/server/connection.h"

#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

class ProxyServer;

/// An HTTP/2 client connection: hands out its streams as exchanges, keeps their timers, and holds
/// its client to the limits.
class H2Connection final : public Connection, private H2Link {
 public:
  /// `first`: bytes that arrived already.
  H2Connection(ProxyServer& server, Stream stream, std::string_view first);
  ~H2Connection() override;
  H2Connection(const H2Connection&) = delete;
  H2Connection& operator=(const H2Connection&) = delete;

  /// Instead of the plain start: the connection began as HTTP/1 and its request asked for h2c. The
  /// request becomes stream 1. False: `settings` (the decoded HTTP2-Settings) are no settings.
  [[nodiscard]] bool upgrade(const std::string& settings, http::RequestHead head,
                             std::string_view body);

  /// The stream again, after an upgrade that failed.
  [[nodiscard]] Stream reclaim() { return std::move(stream()); }

  void start() override;
  bool close_if_idle() override;
  void drain() override;
  void abandon() override;
  bool give_way() override;

 private:
  friend class H2Stream;
  struct Callbacks;

  enum class Wake : std::uint8_t { none, head, idle, unused, farewell, stuck, linger, stream };

  struct Due {
    TimePoint at = TimePoint::max();
    Wake wake = Wake::none;
    H2Stream* stream = nullptr;
    Timer timer = Timer::none;
  };

  void on_link_end() override;
  void on_link_released() override;

  void on_link_blocked() override { watch_writing(); }

  void on_link_done() override;

  [[nodiscard]] H2Stream* find(std::int32_t id) const;
  void add_stream(std::unique_ptr<H2Stream> stream);
  void open_stream(std::int32_t id);
  void close_stream(H2Stream& stream);
  void watch_writing();
  [[nodiscard]] std::size_t portion(std::string_view bytes) override;
  void pay_for_frame();
  /// Of a frame that would carry a message, `head` or content: whether its stream is over, or was
  /// never opened, by the client itself; then the client has got an error.
  [[nodiscard]] bool is_past(std::int32_t stream, bool head);
  void say_farewell();

  [[nodiscard]] Due next_due() const;
  void arm_timer(TimePoint at);
  void on_timer();
  void wake(const Due& due);

  // For the streams.
  void submit_head(std::int32_t id, const http::HeaderBlock& block, bool has_body);
  void submit_interim(std::int32_t id, const http::HeaderBlock& block);
  void resume(std::int32_t id);
  void consumed(std::int32_t id, std::size_t bytes);
  void grow_window(std::int32_t id, std::size_t size);
  /// Windows beyond the first of each stream, both ways, share 4 MiB: a client that stops reading
  /// holds no more than that and the first windows. False: none is left.
  [[nodiscard]] bool claim_window(std::size_t bytes);

  void return_window(std::size_t bytes) { claimed_ -= bytes; }

  void give_memory_back();
  void head_grew(H2Stream& stream);
  void head_over();
  void reset(std::int32_t id, H2Error code);

  ProxyServer& server_;  // owns this connection
  boost::asio::steady_timer timer_;
  std::string first_;
  std::string peer_ip_;
  std::vector<std::unique_ptr<H2Stream>> streams_;  // in no order
  std::vector<std::unique_ptr<H2Stream>> spare_;
  std::unique_ptr<H2Stream> upgraded_;  // stream 1, until the start
  H2FrameWalk walk_;
  H2PastStreams past_;
  std::size_t head_bytes_ = 0;
  std::size_t claimed_ = 0;       // of the windows' budget
  std::size_t claimed_most_ = 0;  // since memory was last given back
  TimePoint head_due_{};          // of the preface, or of a block whose end has not come
  TimePoint head_began_{};        // the newest head
  std::int32_t head_id_ = 0;      // its stream
  TimePoint idle_due_{};
  TimePoint unused_due_{};
  TimePoint farewell_due_{};
  TimePoint linger_due_{};
  TimePoint stuck_due_{};       // by when the client must have taken something
  std::uint64_t stuck_at_ = 0;  // bytes sent when that began
  TimePoint timer_at_{};
  TimePoint budget_at_{};
  double control_budget_ = 0;
  int timers_pending_ = 0;
  bool peer_local_ = false;
  bool timer_set_ = false;
  bool draining_ = false;
  bool gives_place_ = false;  // idle, and its end was ordered
  bool released_ = false;
  bool retired_ = false;
};

}  // namespace sluice::net
