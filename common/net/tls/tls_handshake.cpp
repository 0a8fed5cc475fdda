#include "common/net/tls/tls_handshake.h"

#include "common/net/server/proxy_server.h"
#include "common/net/stream.h"

#include <array>
#include <sys/socket.h>

namespace sluice::net {
using boost::system::error_code;

namespace {

// Go's words, which people search for.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.0 400 Bad Request\r\nSluice-Error: bad-request; reason=http-on-tls-port\r\n\r\n"
    "Client sent an HTTP request to an HTTPS server.\n";

}  // namespace

TlsHandshake::TlsHandshake(ProxyServer& server, TlsSessions& sessions, Socket socket)
    : server_{server}, sessions_{sessions}, socket_{std::move(socket)}, timer_{server.io_} {}

TlsHandshake::~TlsHandshake() = default;

void TlsHandshake::start() {
  accepted_ = server_.clock_.now();
  arm(server_.limits_.head_timeout);
  wait(Socket::wait_read);
}

void TlsHandshake::wait(Socket::wait_type what) {
  ++operations_;
  socket_.async_wait(what, [this](const error_code& ec) {
    --operations_;
    if (phase_ == Phase::over) {
      release_if_done();
    } else if (ec) {
      close();
    } else {
      on_ready();
    }
  });
}

void TlsHandshake::on_ready() {
  if (phase_ == Phase::refused) {
    drop_input();
    return;
  }
  if (!session_) session_ = sessions_.make_session(socket_.native_handle());
  if (session_) {
    step();
  } else {
    close();
  }
}

void TlsHandshake::step() {
  switch (session_->handshake()) {
    case TlsStep::State::done:
      hand_over();
      return;
    case TlsStep::State::want_read:
      server_.handshakes_.open(*this, accepted_);
      wait(Socket::wait_read);
      return;
    case TlsStep::State::want_write:
      server_.handshakes_.open(*this, accepted_);
      wait(Socket::wait_write);
      return;
    case TlsStep::State::ended:
    case TlsStep::State::failed:
      refuse();
      return;
  }
}

void TlsHandshake::hand_over() {
  const bool h2 = session_->protocol() == "h2";
  Stream stream{std::move(socket_), std::move(session_)};
  close();
  server_.secured(std::move(stream), h2, accepted_);
}

// The library has sent its alert already.
void TlsHandshake::refuse() {
  if (session_->is_plain_http()) {
    bool would_block = false;
    // A fresh socket has room for one line.
    [[maybe_unused]] const long sent = write_now(socket_, kPlainHttpAnswer, {}, would_block);
  }
  session_.reset();
  server_.handshakes_.close(*this);
  phase_ = Phase::refused;
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  arm(kLingerTime);
  drop_input();
}

// Unread bytes make the kernel reset the connection, and what was sent with it.
void TlsHandshake::drop_input() {
  std::array<char, 4096> bytes;
  while (dropped_ <= kLingerBytesMax) {
    const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      wait(Socket::wait_read);
      return;
    }
    if (got <= 0) break;
    dropped_ += static_cast<std::size_t>(got);
  }
  close();
}

void TlsHandshake::arm(Duration wait) {
  ++operations_;
  timer_.expires_after(wait);
  timer_.async_wait([this](const error_code& ec) {
    --operations_;
    if (phase_ == Phase::over) {
      release_if_done();
    } else if (!ec) {
      close();
    }
  });
}

bool TlsHandshake::close_if_idle() {
  if (session_) return false;
  close();
  return true;
}

// Like an unfinished head: a client that finishes neither takes a place from others.
bool TlsHandshake::give_way() {
  close();
  return true;
}

void TlsHandshake::abandon() {
  close();
}

void TlsHandshake::close() {
  if (phase_ == Phase::over) return;
  phase_ = Phase::over;
  server_.handshakes_.close(*this);
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  release_if_done();
}

void TlsHandshake::release_if_done() {
  if (phase_ != Phase::over || operations_ > 0 || retired_) return;
  retired_ = true;
  server_.retire(*this);
}

}  // namespace sluice::net
