#include "common/kube/wire.h"

#include "common/net/socket.h"

#include <arpa/inet.h>
#include <utility>

namespace sluice::kube {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kHeadMax = 64 * 1024;
constexpr std::size_t kRoom = 16 * 1024;
// Addresses of one name that are tried.
constexpr std::size_t kPlacesMax = 4;
constexpr std::chrono::seconds kAlive{30};

bool is_ip(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

Wire::Wire(asio::io_context& io, std::shared_ptr<net::TlsSessions> tls)
    : io_{io}, tls_{std::move(tls)}, stream_{net::Socket{io}}, resolver_{io}, parser_{kHeadMax} {}

void Wire::ask(const Self& self, const net::Address& address, std::string request, Events events) {
  self->events_ = std::make_shared<Events>(std::move(events));
  self->request_ = std::move(request);
  self->sent_ = 0;
  self->parser_.reset(false);
  self->head_.clear();
  self->head_done_ = self->heard_ = self->reusable_ = false;
  self->lost_ = {};
  ++self->rests_;
  if (!self->stream_.is_open()) {
    resolve(self, address);
    return;
  }
  error_code ignored;
  self->stream_.socket().cancel(ignored);  // the wait of its rest
  asio::post(self->io_, [self] { send(self); });
}

void Wire::close() {
  events_.reset();
  lost_ = {};
  reusable_ = false;
  resolver_.cancel();
  stream_.close();
}

void Wire::rest(const Self& self, std::function<void()> lost) {
  self->events_.reset();
  self->in_.release();
  self->request_ = {};
  self->lost_ = std::move(lost);
  const std::uint64_t mine = ++self->rests_;
  self->stream_.socket().async_wait(net::Socket::wait_read, [self, mine](const error_code&) {
    if (mine != self->rests_ || !self->lost_) return;
    const std::function<void()> tell = std::exchange(self->lost_, {});
    tell();
  });
}

void Wire::resolve(const Self& self, const net::Address& address) {
  if (address.is_unix() || is_ip(address.host)) {
    self->places_ = {net::endpoint_of(address)};
    asio::post(self->io_, [self] { connect(self, 0); });
    return;
  }
  self->resolver_.async_resolve(
      address.host, std::to_string(address.port),
      [self, host = address.host](const error_code& ec, const Tcp::resolver::results_type& found) {
        if (ec) {
          self->finish(
              {Ending::Kind::unwell, "cannot look up " + host + ": " + ec.message(), true});
          return;
        }
        for (const auto& each : found) {
          if (self->places_.size() == kPlacesMax) break;
          self->places_.emplace_back(each.endpoint());
        }
        connect(self, 0);
      });
}

void Wire::connect(const Self& self, std::size_t place) {
  if (!self->events_) return;
  self->stream_.socket().async_connect(self->places_[place], [self, place](const error_code& ec) {
    if (!self->events_) return;
    if (!ec) {
      connected(self);
    } else if (place + 1 < self->places_.size()) {
      self->stream_.close();
      connect(self, place + 1);
    } else {
      self->finish({Ending::Kind::unwell, "cannot connect: " + ec.message(), true});
    }
  });
}

void Wire::connected(const Self& self) {
  net::prepare(self->stream_.socket());
  net::ask_if_alive(self->stream_.native_handle(), kAlive);
  if (self->tls_ == nullptr) {
    send(self);
    return;
  }
  self->session_ = self->tls_->make_session(self->stream_.native_handle());
  shake_hands(self);
}

void Wire::shake_hands(const Self& self) {
  using State = net::TlsStep::State;
  if (!self->events_) return;
  const State state = self->session_ ? self->session_->handshake() : State::failed;
  if (state == State::done) {
    self->stream_ = net::Stream{std::move(self->stream_.socket()), std::move(self->session_)};
    send(self);
  } else if (state == State::want_read || state == State::want_write) {
    const auto what = state == State::want_read ? net::Socket::wait_read : net::Socket::wait_write;
    self->stream_.socket().async_wait(what, [self](const error_code& ec) {
      if (!ec) shake_hands(self);  // an error here is a close of our own
    });
  } else {
    const std::string why = self->session_ ? self->session_->problem() : "out of memory";
    self->finish({Ending::Kind::unwell, "no TLS connection: " + why, true});
  }
}

void Wire::send(const Self& self) {
  if (!self->events_) return;
  const std::string_view rest = std::string_view{self->request_}.substr(self->sent_);
  self->stream_.async_write_some(
      {asio::buffer(rest), asio::const_buffer{}}, [self](const error_code& ec, std::size_t bytes) {
        if (!self->events_) return;
        self->sent_ += ec ? 0 : bytes;
        if (ec) {
          self->finish(
              {Ending::Kind::silent, "the connection was lost: " + ec.message(), self->sent_ == 0});
        } else if (self->sent_ < self->request_.size()) {
          send(self);
        } else {
          self->request_ = {};
          receive(self);
        }
      });
}

void Wire::receive(const Self& self) {
  self->in_.reserve(self->in_.capacity() == 0 ? kRoom : self->in_.capacity());
  if (self->in_.room() == 0) self->in_.reserve(self->in_.capacity() * 2);
  self->stream_.async_read_some(asio::buffer(self->in_.tail(), self->in_.room()),
                                [self](const error_code& ec, std::size_t bytes) {
                                  if (!self->events_) return;
                                  self->in_.filled(ec ? 0 : bytes);
                                  self->heard_ = self->heard_ || (!ec && bytes > 0);
                                  if (self->take(static_cast<bool>(ec))) receive(self);
                                });
}

// Each of the three returns whether more must be read.
bool Wire::take(bool ended) {
  if (!head_done_ && !take_head(ended)) return false;
  if (!head_done_) return true;
  return take_body(ended);
}

// True when more is needed or the body may follow; head_done_ tells which.
bool Wire::take_head(bool ended) {
  while (!head_done_) {
    const http::Fed fed = in_.empty() ? http::Fed{} : parser_.feed_head(in_.data(), head_);
    in_.consume(fed.used);
    if (fed.state == http::Fed::State::need_more) {
      if (!ended) return true;
      finish({heard_ ? Ending::Kind::cut : Ending::Kind::silent,
              "the server closed the connection before it answered"});
      return false;
    }
    if (fed.state != http::Fed::State::done) {
      finish({Ending::Kind::garbled,
              "the server's answer is not HTTP (" + std::string{fed.why} + ")"});
      return false;
    }
    head_done_ = head_.status >= 200 || head_.status == 101;
    // Interim responses tell nothing yet.
    if (!head_done_) parser_.reset(false);
  }
  const std::shared_ptr<Events> told = events_;
  if (told->head) told->head(head_);
  return events_ == told;
}

bool Wire::take_body(bool ended) {
  const std::shared_ptr<Events> told = events_;
  if (!parser_.done() && !in_.empty()) {
    piece_.clear();
    const http::Fed fed = parser_.feed_body(in_.data(), &piece_);
    in_.consume(fed.used);
    if (fed.state == http::Fed::State::bad) {
      finish({Ending::Kind::garbled, "the body of the answer has invalid framing"});
      return false;
    }
    if (!piece_.empty() && told->body) told->body(piece_);
    if (events_ != told) return false;
  }
  if (parser_.done() || (ended && parser_.finish_at_close())) {
    // An end that the session has read already is one that the socket may never tell.
    const bool is_over = stream_.encrypted() && stream_.tls()->may_have_more();
    reusable_ = !ended && !is_over && head_.keep_alive && in_.empty() && head_.status != 101;
    used_ = true;
    finish({});
    return false;
  }
  if (ended) finish({Ending::Kind::cut, "the connection was lost in the middle of the answer"});
  return !ended;
}

void Wire::finish(Ending ending) {
  const std::shared_ptr<Events> told = std::exchange(events_, nullptr);
  if (!reusable_) stream_.close();
  if (told && told->ended) told->ended(ending);
}

}  // namespace sluice::kube
