#include "common/net/h1/h1_client.h"

#include "common/net/ip_text.h"

#include <sys/un.h>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kHeadMax = 64 * 1024;
constexpr std::size_t kRoom = 16 * 1024;
constexpr std::chrono::seconds kAlive{30};

}  // namespace

H1Client::H1Client(asio::io_context& io, std::shared_ptr<TlsSessions> tls, Lookup lookup)
    : io_{io}, tls_{std::move(tls)}, lookup_{lookup}, stream_{Socket{io}}, parser_{kHeadMax} {}

void H1Client::ask(const Self& self, const Address& address, std::string request, Events events) {
  self->events_ = std::make_shared<Events>(std::move(events));
  self->request_ = std::move(request);
  self->sent_ = 0;
  self->parser_.reset(false);
  self->head_.clear();
  self->send_failure_.clear();
  self->head_done_ = self->heard_ = self->reusable_ = false;
  self->lost_ = {};
  ++self->rests_;
  if (!self->stream_.is_open()) {
    find(self, address);
    return;
  }
  error_code ignored;
  self->stream_.socket().cancel(ignored);  // the wait of its rest
  asio::post(self->io_, [self] { send(self); });
}

void H1Client::close() {
  events_.reset();
  lost_ = {};
  reusable_ = false;
  looking_.reset();
  stream_.close();
}

void H1Client::rest(const Self& self, std::function<void()> lost) {
  self->events_.reset();
  self->in_.release();
  self->request_ = {};
  self->lost_ = std::move(lost);
  const std::uint64_t mine = ++self->rests_;
  self->stream_.socket().async_wait(Socket::wait_read, [self, mine](const error_code&) {
    if (mine != self->rests_ || !self->lost_) return;
    const std::function<void()> tell = std::exchange(self->lost_, {});
    tell();
  });
}

void H1Client::find(const Self& self, const Address& address) {
  if (address.path.size() >= sizeof sockaddr_un::sun_path) {
    asio::post(self->io_, [self] {
      self->finish({Kind::unreachable, "cannot connect: the path of the socket is too long", true});
    });
    return;
  }
  if (self->lookup_ == nullptr || address.is_unix() || is_ip(address.host)) {
    self->places_ = {endpoint_of(address)};
    connect(self, 0);
    return;
  }
  self->looking_ = self->lookup_(
      self->io_, address,
      [self, host = address.host](const error_code& ec, std::vector<Endpoint> found) {
        self->looking_.reset();
        if (!self->events_) return;
        if (ec || found.empty()) {
          self->finish({Kind::unreachable, "cannot look up " + host + ": " + ec.message(), true});
          return;
        }
        self->places_ = std::move(found);
        connect(self, 0);
      });
}

void H1Client::connect(const Self& self, std::size_t place) {
  if (!self->events_) return;
  self->stream_.socket().async_connect(self->places_[place], [self, place](const error_code& ec) {
    if (!self->events_) return;
    if (!ec) {
      connected(self);
    } else if (place + 1 < self->places_.size()) {
      self->stream_.close();
      connect(self, place + 1);
    } else {
      self->finish({Kind::unreachable, "cannot connect: " + ec.message(), true});
    }
  });
}

void H1Client::connected(const Self& self) {
  prepare(self->stream_.socket());
  ask_if_alive(self->stream_.native_handle(), kAlive);
  if (self->tls_ == nullptr) {
    send(self);
    return;
  }
  self->session_ = self->tls_->make_session(self->stream_.native_handle());
  shake_hands(self);
}

void H1Client::shake_hands(const Self& self) {
  using State = TlsStep::State;
  if (!self->events_) return;
  const State state = self->session_ ? self->session_->handshake() : State::failed;
  if (state == State::done) {
    self->stream_ = Stream{std::move(self->stream_.socket()), std::move(self->session_)};
    send(self);
  } else if (state == State::want_read || state == State::want_write) {
    const auto what = state == State::want_read ? Socket::wait_read : Socket::wait_write;
    self->stream_.socket().async_wait(what, [self](const error_code& ec) {
      if (!ec) shake_hands(self);  // an error here is a close of our own
    });
  } else {
    const std::string why = self->session_ ? self->session_->problem() : "out of memory";
    self->finish({Kind::untrusted, "no TLS connection: " + why, true});
  }
}

void H1Client::send(const Self& self) {
  if (!self->events_) return;
  const std::string_view rest = std::string_view{self->request_}.substr(self->sent_);
  self->stream_.async_write_some(
      {asio::buffer(rest), asio::const_buffer{}}, [self](const error_code& ec, std::size_t bytes) {
        if (!self->events_) return;
        self->sent_ += ec ? 0 : bytes;
        if (!ec && self->sent_ < self->request_.size()) {
          send(self);
          return;
        }
        self->request_ = {};
        if (ec) self->send_failure_ = "the connection was lost: " + ec.message();
        // A server that refuses a new connection answers before it is asked, and closes. One that
        // was used before has been closed while it rested, and whatever it says is about that.
        if (ec && self->used_) {
          self->finish({Kind::silent, self->send_failure_, self->sent_ == 0});
        } else {
          receive(self);
        }
      });
}

void H1Client::receive(const Self& self) {
  self->in_.reserve(self->in_.capacity() == 0 ? kRoom : self->in_.capacity());
  if (self->in_.room() == 0) self->in_.reserve(self->in_.capacity() * 2);
  self->stream_.async_read_some(asio::buffer(self->in_.tail(), self->in_.room()),
                                [self](const error_code& ec, std::size_t bytes) {
                                  if (!self->events_) return;
                                  self->in_.filled(ec ? 0 : bytes);
                                  self->heard_ = self->heard_ || (!ec && bytes > 0);
                                  self->broken_ = ec && ec != asio::error::eof;
                                  if (self->take(static_cast<bool>(ec))) receive(self);
                                });
}

// Each of the three returns whether more must be read.
bool H1Client::take(bool ended) {
  if (!head_done_ && !take_head(ended)) return false;
  if (!head_done_) return true;
  return take_body(ended);
}

// True when more is needed or the body may follow; head_done_ tells which.
bool H1Client::take_head(bool ended) {
  while (!head_done_) {
    const http::Fed fed = in_.empty() ? http::Fed{} : parser_.feed_head(in_.data(), head_);
    in_.consume(fed.used);
    if (fed.state == http::Fed::State::need_more) {
      if (!ended) return true;
      if (heard_ || send_failure_.empty()) {
        finish({heard_ ? Kind::cut : Kind::silent,
                "the server closed the connection before it answered"});
      } else {
        finish({Kind::silent, send_failure_, sent_ == 0});
      }
      return false;
    }
    if (fed.state != http::Fed::State::done) {
      finish({Kind::garbled, "the server's answer is not HTTP (" + std::string{fed.why} + ")"});
      return false;
    }
    head_done_ = head_.status >= 200 || head_.status == 101;
    // Interim responses tell nothing yet.
    if (!head_done_) parser_.reset(false);
  }
  keeps_alive_ = head_.keep_alive && head_.status != 101 && send_failure_.empty();
  const std::shared_ptr<Events> told = events_;
  if (told->head) told->head(head_);
  return events_ == told;
}

bool H1Client::take_body(bool ended) {
  const std::shared_ptr<Events> told = events_;
  if (!parser_.done() && !in_.empty()) {
    piece_.clear();
    const http::Fed fed = parser_.feed_body(in_.data(), &piece_);
    in_.consume(fed.used);
    if (fed.state == http::Fed::State::bad) {
      finish({Kind::garbled, "the body of the answer has invalid framing"});
      return false;
    }
    if (!piece_.empty() && told->body) told->body(piece_);
    if (events_ != told) return false;
  }
  // Only a proper close ends a body whose length the head does not give.
  if (parser_.done() || (ended && !broken_ && parser_.finish_at_close())) {
    // An end that the session has read already is one that the socket may never tell.
    const bool is_over = stream_.encrypted() && stream_.tls()->may_have_more();
    reusable_ = !ended && !is_over && keeps_alive_ && in_.empty();
    used_ = true;
    finish({});
    return false;
  }
  if (ended) finish({Kind::cut, "the connection was lost in the middle of the answer"});
  return !ended;
}

void H1Client::finish(Ending ending) {
  const std::shared_ptr<Events> told = std::exchange(events_, nullptr);
  if (!reusable_) stream_.close();
  if (told && told->ended) told->ended(ending);
}

}  // namespace sluice::net
