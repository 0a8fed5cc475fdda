#include "common/net/fetch.h"

#include <boost/asio/write.hpp>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

struct Fetch::Run {
  Run(asio::io_context& io, FetchRequest asked, Done on_done)
      : socket{io}, timer{io}, request{std::move(asked)}, done{std::move(on_done)}, parser{64 * 1024} {}

  static void start(const std::shared_ptr<Run>& self) {
    self->timer.expires_after(self->request.timeout);
    self->timer.async_wait([self](const error_code& ec) {
      if (!ec) self->finish(Error::deadline_exceeded);
    });
    self->socket.async_connect(endpoint_of(self->request.target), [self](const error_code& ec) {
      if (ec) {
        self->finish(Error::upstream_connect);
      } else {
        send(self);
      }
    });
  }

  static void send(const std::shared_ptr<Run>& self) {
    asio::async_write(self->socket, asio::buffer(self->request.head),
                      [self](const error_code& ec, std::size_t /*bytes*/) {
                        if (ec) {
                          self->finish(Error::upstream_reset);
                        } else {
                          receive(self);
                        }
                      });
  }

  static void receive(const std::shared_ptr<Run>& self) {
    self->in.reserve(self->in.capacity() == 0 ? 4096 : self->in.capacity());
    if (self->in.room() == 0) self->in.reserve(self->in.capacity() * 2);
    self->socket.async_read_some(asio::buffer(self->in.tail(), self->in.room()),
                                 [self](const error_code& ec, std::size_t bytes) {
                                   self->in.filled(ec ? 0 : bytes);
                                   if (self->take(static_cast<bool>(ec))) receive(self);
                                 });
  }

  // Returns whether more must be read.
  bool take(bool ended) {
    if (finished) return false;
    if (!head_done) {
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
      head_done = true;
    }
    if (!parser.done() && !in.empty()) {
      const http::Fed fed = parser.feed_body(in.data(), &response.body);
      in.consume(fed.used);
      if (fed.state == http::Fed::State::bad) finish(Error::upstream_invalid);
      if (response.body.size() > request.body_max) finish(Error::too_large);
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
    error_code ignored;
    socket.close(ignored);
    timer.cancel();
    const Done call = std::move(done);
    if (!call) return;
    if (error) {
      call(*error);
    } else {
      call(std::move(response));
    }
  }

  Socket socket;
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
