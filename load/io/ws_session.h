#pragma once

#include <boost/asio/steady_timer.hpp>

#include "load/core/ws_reader.h"
#include "load/io/dial.h"
#include "load/io/ws_plan.h"
#include "load/io/ws_sessions.h"
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loadgen {

/// One WebSocket: connects, sends a message at each of its times, and waits for the answer to each,
/// which the server gives in their order.
class WsSession final : private Dial::Owner {
 public:
  WsSession(boost::asio::io_context& io, WsSessions& all, const WsOrder& order);

  void start();

  /// Ends it: what waits for an answer has timed out, what was not sent yet never is.
  void give_up();

  /// Ends it without a word.
  void close();

  [[nodiscard]] bool is_over() const { return state_ == State::over; }

  /// Operations whose completion has not come yet.
  [[nodiscard]] unsigned pending() const { return pending_ + dial_.pending(); }

 private:
  enum class State : std::uint8_t { connecting, agreeing, open, over };

  struct Sent {
    Duration planned;
    Duration taken;
  };

  void on_dialled() override;
  void on_dial_failed(Ending ending, const std::string& text) override;
  [[nodiscard]] Duration due(std::uint64_t message) const;
  void look_at_clock();
  void arm(Duration when);
  void wait_readable();
  void read();
  [[nodiscard]] net::TlsStep receive(char* to, std::size_t size);
  bool take(std::string_view bytes);
  void answered();
  void write(std::string_view bytes);
  void write_rest();
  void fail(Ending ending, const std::string& text);
  void end(Ending ending);

  WsSessions& all_;  // owns this
  const WsOrder order_;
  Dial dial_;
  net::Socket socket_;
  std::unique_ptr<net::TlsSession> tls_;  // over socket_; null: in clear text
  boost::asio::steady_timer timer_;
  WsReader reader_;
  std::vector<Sent> waiting_;  // sent, not answered; oldest first
  std::string out_;            // what the socket has not taken yet
  std::uint64_t sent_ = 1;     // messages; the first is sent with the handshake
  unsigned pending_ = 0;
  bool writing_ = false;
  State state_ = State::connecting;
};

}  // namespace sluice::loadgen
