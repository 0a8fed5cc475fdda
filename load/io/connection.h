#pragma once

#include "load/io/dial.h"
#include "load/io/exchange.h"
#include "load/io/wire_response.h"
#include <array>
#include <memory>
#include <string_view>

namespace sluice::loadgen {

/// One client connection of HTTP/1 with at most one request on its way. It connects when it must,
/// and keeps alive when it may.
class Connection final : public Exchange, private Dial::Owner {
 public:
  /// `owner` outlives every operation: it waits for pending() to reach zero after close().
  Connection(boost::asio::io_context& loop, Exchange::Owner& owner);

  /// Where to connect when it sends next; of an open connection the place it is connected to.
  /// `peer` outlives the connection.
  void aim(const Peer& peer) { peer_ = &peer; }

  void send(const Request& request) override;
  void close() override;

  [[nodiscard]] bool is_open() const override { return state_ == State::ready; }

  [[nodiscard]] bool is_connecting() const override { return state_ == State::connecting; }

  [[nodiscard]] Answer answer() const override;

  [[nodiscard]] std::uint64_t carried() const override { return carried_; }

  [[nodiscard]] unsigned pending() const override { return pending_ + dial_.pending(); }

 private:
  enum class State { closed, connecting, ready };

  void on_dialled() override;
  void on_dial_failed(Ending ending, const std::string& text) override;
  void write();
  void write_plain();
  void write_encrypted();
  void read();
  void read_encrypted();
  template <class Step>
  void when_ready(net::TlsStep::State what, Step step);
  void on_read(boost::system::error_code error, std::size_t bytes);
  void take_bytes();
  void end(Ending ending);

  Dial dial_;
  net::Socket socket_;
  std::unique_ptr<net::TlsSession> tls_;  // over socket_; null: in clear text
  const Peer* peer_ = nullptr;
  Exchange::Owner& owner_;  // owns this connection
  WireResponse response_;
  std::string_view request_head_;
  std::string_view request_body_;  // under TLS both are what is left to be written
  State state_ = State::closed;
  bool busy_ = false;
  bool writing_ = false;
  std::uint64_t carried_ = 0;
  unsigned pending_ = 0;
  // Completions of an earlier socket may still be queued when a new one is opened: each operation
  // remembers the socket it belongs to and is ignored when that one is gone.
  std::uint64_t epoch_ = 0;
  std::size_t filled_ = 0;
  std::array<char, WireResponse::kHeaderBytesMax> buffer_;
};

}  // namespace sluice::loadgen
