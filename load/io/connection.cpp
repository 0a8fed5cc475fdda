#include "load/io/connection.h"

#include "common/base/check.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using TlsState = net::TlsStep::State;

Connection::Connection(asio::io_context& loop, Exchange::Owner& owner)
    : dial_{loop, *this}, socket_{loop}, owner_{owner} {}

void Connection::send(const Request& request) {
  CHECK(!busy_);
  busy_ = true;
  request_head_ = request.head;
  request_body_ = request.body;
  response_.begin(request.to_head);
  if (state_ == State::ready) {
    write();
    return;
  }
  state_ = State::connecting;
  carried_ = 0;
  dial_.start(*peer_);
}

Answer Connection::answer() const {
  return {response_.status(), response_.refused(), response_.body_bytes()};
}

void Connection::close() {
  ++epoch_;
  dial_.cancel();
  if (tls_) tls_->close_notify();
  tls_.reset();
  ErrorCode ignored;
  socket_.close(ignored);
  state_ = State::closed;
  busy_ = false;
  writing_ = false;
  filled_ = 0;
}

void Connection::on_dialled() {
  socket_ = dial_.take_socket();
  tls_ = dial_.take_session();
  if (tls_ && tls_->protocol() == "h2") {
    net::Stream stream{std::move(socket_), std::move(tls_)};
    close();
    owner_.chose_h2(*this, std::move(stream));
    return;
  }
  state_ = State::ready;
  const std::uint64_t epoch = epoch_;
  owner_.connected(*this);
  write();
  if (epoch == epoch_) read();
}

void Connection::on_dial_failed(Ending ending, const std::string& text) {
  owner_.failed(text);
  end(ending);
}

// Runs `step` once the socket is ready for what the session wants.
template <class Step>
void Connection::when_ready(TlsState what, Step step) {
  ++pending_;
  socket_.async_wait(
      what == TlsState::want_write ? net::Socket::wait_write : net::Socket::wait_read,
      [this, epoch = epoch_, step](ErrorCode) {
        --pending_;
        // An error of the socket is what the session meets next.
        if (epoch == epoch_) step();
      });
}

void Connection::write() {
  writing_ = true;
  ++carried_;
  if (tls_) {
    write_encrypted();
  } else {
    write_plain();
  }
}

// A session that fails is left to the read, which sees it too, and perhaps an answer before that.
void Connection::write_encrypted() {
  const net::TlsStep step = tls_->write(request_head_, request_body_);
  const std::size_t of_head = std::min(step.bytes, request_head_.size());
  request_head_.remove_prefix(of_head);
  request_body_.remove_prefix(step.bytes - of_head);
  if (request_head_.empty() && request_body_.empty()) {
    writing_ = false;
  } else if (step.state != TlsState::failed) {
    when_ready(step.state == TlsState::want_read ? step.state : TlsState::want_write,
               [this] { write_encrypted(); });
  }
}

void Connection::write_plain() {
  ++pending_;
  const auto done = [this, epoch = epoch_](ErrorCode error, std::size_t) {
    --pending_;
    if (epoch != epoch_) return;
    writing_ = false;
    // A peer that answers early and stops reading fails the write; the read sees the answer.
    if (error && error != asio::error::broken_pipe && error != asio::error::connection_reset) {
      owner_.failed("send: " + error.message());
      end(Ending::reset);
    }
  };
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{request_head_.data(), request_head_.size()},
      asio::const_buffer{request_body_.data(), request_body_.size()}};
  asio::async_write(socket_, parts, done);
}

// One read is always under way on an open connection, also while it is idle: so a peer's close is
// seen before the next request runs into it.
void Connection::read() {
  if (tls_ && tls_->may_have_more()) {
    ++pending_;
    asio::post(socket_.get_executor(), [this, epoch = epoch_] {
      --pending_;
      if (epoch == epoch_) read_encrypted();
    });
    return;
  }
  if (tls_) {
    when_ready(TlsState::want_read, [this] { read_encrypted(); });
    return;
  }
  ++pending_;
  socket_.async_read_some(asio::buffer(buffer_.data() + filled_, buffer_.size() - filled_),
                          [this, epoch = epoch_](ErrorCode error, std::size_t bytes) {
                            --pending_;
                            if (epoch == epoch_) on_read(error, bytes);
                          });
}

void Connection::read_encrypted() {
  const net::TlsStep step = tls_->read(buffer_.data() + filled_, buffer_.size() - filled_);
  switch (step.state) {
    case TlsState::done:
      on_read({}, step.bytes);
      return;
    case TlsState::want_read:
    case TlsState::want_write:
      when_ready(step.state, [this] { read_encrypted(); });
      return;
    case TlsState::ended:
      on_read(asio::error::eof, 0);
      return;
    case TlsState::failed:
      on_read(asio::error::connection_reset, 0);
      return;
  }
}

void Connection::on_read(ErrorCode error, std::size_t bytes) {
  if (!busy_) {
    close();  // closed by the peer, or bytes without a request
    owner_.dropped(*this);
    return;
  }
  if (error) {
    const bool whole =
        error == asio::error::eof && response_.finish() == WireResponse::State::whole;
    // Since TLS 1.3 a server judges our certificate when the handshake is over for us.
    const bool by_tls = tls_ && error == asio::error::connection_reset;
    if (!whole) owner_.failed("receive: " + (by_tls ? "TLS: " + tls_->problem() : error.message()));
    end(whole ? Ending::answered : Ending::reset);
    return;
  }
  filled_ += bytes;
  take_bytes();
}

void Connection::take_bytes() {
  const WireResponse::Fed fed = response_.feed({buffer_.data(), filled_});
  filled_ -= fed.consumed;
  if (filled_ > 0) std::memmove(buffer_.data(), buffer_.data() + fed.consumed, filled_);
  if (fed.state == WireResponse::State::more && filled_ < buffer_.size()) {
    read();
    return;
  }
  if (fed.state != WireResponse::State::whole) {
    owner_.failed("the answer is not HTTP/1, or its headers are longer than 16 KiB");
    end(Ending::invalid);
    return;
  }
  const bool reusable = response_.keep_alive() && !writing_ && filled_ == 0;
  if (!reusable) {
    end(Ending::answered);
    return;
  }
  busy_ = false;
  const std::uint64_t epoch = epoch_;
  owner_.ended(*this, Ending::answered);
  if (epoch == epoch_) read();
}

// The request is over and so is its connection.
void Connection::end(Ending ending) {
  close();
  owner_.ended(*this, ending);
}

}  // namespace sluice::loadgen
