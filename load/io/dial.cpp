#include "load/io/dial.h"

#include "common/base/check.h"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using TlsState = net::TlsStep::State;

namespace {

// Why there is no connection.
Ending ending_of(ErrorCode error) {
  for (const auto ours : {asio::error::no_descriptors, asio::error::no_buffer_space,
                          asio::error::no_memory, asio::error::address_in_use}) {
    if (error == ours) return Ending::no_local_port;
  }
  if (error == boost::system::errc::address_not_available) return Ending::no_local_port;
  return error == asio::error::timed_out ? Ending::connect_timeout : Ending::connect_refused;
}

// What ALPN offers, most wanted first.
const char* offered(Protocol protocol) {
  switch (protocol) {
    case Protocol::by_alpn:
      return "h2,http/1.1";
    case Protocol::h2:
    case Protocol::grpc:
      return "h2";
    case Protocol::http1:
    case Protocol::ws:
      break;
  }
  return "http/1.1";
}

}  // namespace

Dial::Dial(asio::io_context& loop, Owner& owner) : socket_{loop}, owner_{owner} {}

void Dial::start(const Peer& peer) {
  peer_ = &peer;
  ErrorCode error;
  const net::Endpoint endpoint{peer.endpoint};
  socket_.open(endpoint.protocol(), error);
  // Without Nagle's wait a request of two segments would be held back for the peer's delayed ack.
  if (!error) net::prepare(socket_);
  ++pending_;
  const auto done = [this, epoch = epoch_](ErrorCode result) {
    --pending_;
    if (epoch == epoch_) on_connected(result);
  };
  if (error) {
    asio::post(socket_.get_executor(), [done, error] { done(error); });
    return;
  }
  socket_.async_connect(endpoint, done);
}

void Dial::cancel() {
  ++epoch_;
  session_.reset();
  ErrorCode ignored;
  socket_.close(ignored);
}

void Dial::on_connected(ErrorCode error) {
  if (error) {
    const bool no_port = error == boost::system::errc::address_not_available;
    fail(ending_of(error), "connect to " + peer_->text() + ": " +
                               (no_port ? "no local port is free; reuse connections, or allow fewer"
                                        : error.message()));
  } else if (peer_->tls == nullptr) {
    owner_.on_dialled();
  } else {
    session_ =
        peer_->tls->make_session(socket_.native_handle(), peer_->name, offered(peer_->protocol));
    CHECK(session_ != nullptr);
    shake_hands();
  }
}

void Dial::shake_hands() {
  const TlsState state = session_->handshake();
  if (state == TlsState::done) {
    owner_.on_dialled();
  } else if (state == TlsState::want_read || state == TlsState::want_write) {
    ++pending_;
    socket_.async_wait(
        state == TlsState::want_write ? net::Socket::wait_write : net::Socket::wait_read,
        [this, epoch = epoch_](ErrorCode) {
          --pending_;
          // An error of the socket is what the session meets next.
          if (epoch == epoch_) shake_hands();
        });
  } else {
    fail(Ending::tls,
         "TLS with " + peer_->name + " at " + peer_->text() + ": " + session_->problem());
  }
}

void Dial::fail(Ending ending, const std::string& text) {
  cancel();
  owner_.on_dial_failed(ending, text);
}

}  // namespace sluice::loadgen
