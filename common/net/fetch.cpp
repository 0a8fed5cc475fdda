#include "common/net/fetch.h"

#include "common/net/stream.h"

#include <array>
#include <optional>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

struct Fetch::Run {
  Run(asio::io_context& io, FetchRequest asked, Done on_done)
      : stream{Socket{io}},
        timer{io},
        request{std::move(asked)},
        done{std::move(on_done)},
        parser{64 * 1024} {}

  static void start(const std::shared_ptr<Run>& self) {
    self->timer.expires_after(self->request.timeout);
    self->timer.async_wait([self](const error_code& ec) {
      if (!ec) self->finish(Error::deadline_exceeded);
    });
    self->stream.socket().async_connect(
        endpoint_of(self->request.target), [self](const error_code& ec) {
          if (ec) {
            self->finish(Error::upstream_connect);
          } else if (self->request.tls != nullptr) {
            self->session = self->request.tls->make_session(self->stream.native_handle());
            shake_hands(self);
          } else {
            send(self, self->request.head);
          }
        });
  }

  static void shake_hands(const std::shared_ptr<Run>& self) {
    if (self->finished) return;
    const auto state = self->session ? self->session->handshake() : TlsStep::State::failed;
    if (state == TlsStep::State::done) {
      self->stream = Stream{std::move(self->stream.socket()), std::move(self->session)};
      send(self, self->request.head);
    } else if (state == TlsStep::State::want_read || state == TlsStep::State::want_write) {
      const auto what = state == TlsStep::State::want_read ? Socket::wait_read : Socket::wait_write;
      self->stream.socket().async_wait(what, [self](const error_code& ec) {
        if (!ec) shake_hands(self);  // an error here is a close of our own: already finished
      });
    } else {
      self->finish(Error::upstream_invalid);
    }
  }

  static void send(const std::shared_ptr<Run>& self, std::string_view rest) {
    self->stream.async_write_some({asio::buffer(rest), asio::const_buffer{}},
                                  [self, rest](const error_code& ec, std::size_t bytes) {
                                    if (ec) {
                                      self->finish(Error::upstream_reset);
                                    } else if (bytes < rest.size()) {
                                      send(self, rest.substr(bytes));
                                    } else {
                                      receive(self);
                                    }
                                  });
  }

  static void receive(const std::shared_ptr<Run>& self) {
    self->in.reserve(self->in.capacity() == 0 ? 4096 : self->in.capacity());
    if (self->in.room() == 0) self->in.reserve(self->in.capacity() * 2);
    self->stream.async_read_some(asio::buffer(self->in.tail(), self->in.room()),
                                 [self](const error_code& ec, std::size_t bytes) {
                                   self->in.filled(ec ? 0 : bytes);
                                   if (self->take(static_cast<bool>(ec))) receive(self);
                                 });
  }

  // Returns whether more must be read.
  bool take(bool ended) {
    if (finished) return false;
    while (!head_done) {
      const http::Fed fed = in.empty() ? http::Fed{} : parser.feed_head(in.data(), response.head);
      in.consume(fed.used);
      if (fed.state == http::Fed::State::need_more) {
        if (ended) finish(Error::upstream_reset);
        return !ended;
      }
      if (fed.state != http::Fed::State::done) {
        finish(Error::upstream_invalid);
        return false;
      }
      head_done = response.head.status >= 200 || response.head.status == 101;
      // Interim responses tell nothing yet.
      if (!head_done) parser.reset(false);
    }
    if (request.head_only) {
      report({});
      if (finished) return false;
    }
    if (!parser.done() && !in.empty()) {
      const http::Fed fed =
          parser.feed_body(in.data(), request.head_only ? nullptr : &response.body);
      in.consume(fed.used);
      if (fed.state == http::Fed::State::bad) finish(Error::upstream_invalid);
      if (parser.content_bytes() > request.body_max) finish(Error::too_large);
      if (finished) return false;
    }
    if (parser.done() || (ended && parser.finish_at_close())) {
      finish({});
      return false;
    }
    if (ended) finish(Error::upstream_reset);
    return !ended;
  }

  void finish(std::optional<Error> error) {
    if (finished) return;
    finished = true;
    stream.close();
    timer.cancel();
    report(error);
  }

  // Reports the outcome once; may destroy the fetch.
  void report(std::optional<Error> error) {
    const Done call = std::exchange(done, {});
    if (!call) return;
    if (error) {
      call(*error);
    } else {
      call(std::move(response));
    }
  }

  Stream stream;
  std::unique_ptr<TlsSession> session;  // while hands are shaken
  asio::steady_timer timer;
  FetchRequest request;
  Done done;
  http::ResponseParser parser;
  FetchResponse response;
  ByteBuffer in;
  bool head_done = false;
  bool finished = false;
};

Fetch::Fetch(asio::io_context& io, FetchRequest request, Done done)
    : run_{std::make_shared<Run>(io, std::move(request), std::move(done))} {
  Run::start(run_);
}

Fetch::~Fetch() {
  run_->done = {};
  run_->finish(Error::client_gone);
}

}  // namespace sluice::net
