#pragma once

#include "common/net/socket.h"
#include "common/net/tls/tls.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

namespace sluice::net {

/// A client's connection, plain or under TLS. Plain operations are the socket's own, without any
/// layer between. Belongs to one thread; is neither moved nor destroyed while an operation of its
/// own is outstanding (after close they end soon, with operation_aborted).
class Stream {
 public:
  explicit Stream(Socket socket) : socket_{std::move(socket)} {}

  /// `tls`: a session over this very socket, its handshake done.
  Stream(Socket socket, std::unique_ptr<TlsSession> tls)
      : socket_{std::move(socket)}, tls_{std::move(tls)} {}

  [[nodiscard]] Socket& socket() { return socket_; }

  [[nodiscard]] bool encrypted() const { return tls_ != nullptr; }

  [[nodiscard]] int native_handle() { return socket_.native_handle(); }

  [[nodiscard]] bool is_open() const { return socket_.is_open(); }

  /// The session, or null for a plain stream.
  [[nodiscard]] TlsSession* tls() { return tls_.get(); }

  [[nodiscard]] Endpoint remote_endpoint(boost::system::error_code& ec) const {
    return socket_.remote_endpoint(ec);
  }

  /// Calls done(error_code, bytes), never from inside this call. `eof`: the peer has finished
  /// sending.
  template <class Done>
  void async_read_some(boost::asio::mutable_buffer to, Done done) {
    if (!tls_) {
      socket_.async_read_some(to, std::move(done));
      return;
    }
    start_read(to, std::move(done));
  }

  /// One attempt to write both parts without waiting. Returns bytes written; `would_block` says
  /// that the rest must wait; a negative result means the peer is gone. Under TLS the bytes that
  /// must wait have to come first in the next write.
  [[nodiscard]] long write_now(std::string_view first, std::string_view second, bool& would_block) {
    if (!tls_) return net::write_now(socket_, first, second, would_block);
    const TlsStep step = tls_->write(first, second);
    if (step.state == TlsStep::State::failed) return -1;
    would_block = step.bytes < first.size() + second.size();
    return static_cast<long>(step.bytes);
  }

  /// Waits until something can be written, writes it, and calls done(error_code, bytes).
  template <class Done>
  void async_write_some(const std::array<boost::asio::const_buffer, 2>& parts, Done done) {
    if (!tls_) {
      socket_.async_write_some(parts, std::move(done));
      return;
    }
    socket_.async_wait(Socket::wait_write, Write<Done>{this, parts, std::move(done)});
  }

  /// Nothing more will be written. Under TLS a close_notify goes out first.
  void shutdown_send() {
    if (tls_) tls_->close_notify();
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  /// Ends the connection. A TLS peer that got no shutdown_send before sees that it was cut.
  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  using State = TlsStep::State;

  static boost::system::error_code error_of(State state) {
    if (state == State::done) return {};
    if (state == State::ended) return boost::asio::error::eof;
    return boost::asio::error::connection_reset;
  }

  static bool waits(State state) { return state == State::want_read || state == State::want_write; }

  static Socket::wait_type wait_for(State state) {
    return state == State::want_write ? Socket::wait_write : Socket::wait_read;
  }

  // Each of the two waits for the socket, takes one step, and waits again when nothing moved.
  template <class Done>
  struct Read {
    Stream* stream;
    boost::asio::mutable_buffer to;
    Done done;

    void operator()(const boost::system::error_code& ec) {
      // Closed meanwhile: the descriptor may have been reused by now.
      if (ec || !stream->is_open()) {
        done(boost::system::error_code{boost::asio::error::operation_aborted}, std::size_t{0});
        return;
      }
      const TlsStep step = stream->tls_->read(static_cast<char*>(to.data()), to.size());
      if (waits(step.state)) {
        stream->socket_.async_wait(wait_for(step.state), std::move(*this));
        return;
      }
      done(error_of(step.state), step.bytes);
    }
  };

  template <class Done>
  struct Write {
    Stream* stream;
    std::array<boost::asio::const_buffer, 2> parts;
    Done done;

    void operator()(const boost::system::error_code& ec) {
      if (ec || !stream->is_open()) {
        done(boost::system::error_code{boost::asio::error::operation_aborted}, std::size_t{0});
        return;
      }
      const TlsStep step = stream->tls_->write(text_of(parts[0]), text_of(parts[1]));
      if (waits(step.state) && step.bytes == 0) {
        stream->socket_.async_wait(wait_for(step.state), std::move(*this));
        return;
      }
      done(step.bytes > 0 ? boost::system::error_code{} : error_of(step.state), step.bytes);
    }

    static std::string_view text_of(const boost::asio::const_buffer& part) {
      return {static_cast<const char*>(part.data()), part.size()};
    }
  };

  template <class Done>
  void start_read(boost::asio::mutable_buffer to, Done done) {
    State state = State::want_read;
    if (tls_->may_have_more()) {
      const TlsStep step = tls_->read(static_cast<char*>(to.data()), to.size());
      if (!waits(step.state)) {
        boost::asio::post(socket_.get_executor(), [done = std::move(done), step]() mutable {
          done(error_of(step.state), step.bytes);
        });
        return;
      }
      state = step.state;
    }
    socket_.async_wait(wait_for(state), Read<Done>{this, to, std::move(done)});
  }

  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // null: plain
};

}  // namespace sluice::net
