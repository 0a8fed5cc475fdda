// The two pumps of an exchange. Each moves bytes from one connection to the other through the
// reader's own buffer: read, let the parser find the end, write the same bytes, use them up. A pump
// waits for its writer, so a slow reader on one side slows the other side's sender, and memory
// stays bounded whatever the body's size.

#include "common/net/exchange.h"
#include "common/net/proxy_server.h"

#include <boost/asio/buffer.hpp>

#include <charconv>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kLargeBuffer = 64 * 1024;
constexpr std::size_t kKeptBuffer = 16 * 1024;
constexpr Duration kExpectWait = std::chrono::seconds{1};

void append_chunk(std::string& out, std::string_view content) {
  if (content.empty()) return;
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, content.size(), 16).ptr);
  out.append("\r\n").append(content).append("\r\n");
}

}  // namespace

void Exchange::forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) {
  CHECK(begun_ && !body_sent_);
  unwatch();
  detach_upstream(false);
  pool_ = &pool;
  request_out_.clear();
  http::write_request_head(request_out_, head_, rewrite);
  retried_stale_ = false;
  if (Upstream* idle = pool.take_idle(*this)) {
    attach(*idle);
  } else {
    connect_upstream();
  }
}

void Exchange::connect_upstream() {
  phase_ = Phase::connecting;
  connect_attempt_ =
      pool_->connect(*this, [this](Upstream* upstream, const ConnectFailure& failure) {
        on_connected(upstream, failure);
      });
  if (parser_.done()) want_client_read();
}

void Exchange::on_connected(Upstream* upstream, const ConnectFailure& failure) {
  connect_attempt_ = 0;
  if (upstream != nullptr) {
    attach(*upstream);
    return;
  }
  phase_ = Phase::held;
  if (server_.gateway_.upstream_failed(*this, failure)) return;
  answer(http::response_for(failure.error, failure.text), Outcome::End::own);
}

void Exchange::attach(Upstream& upstream) {
  upstream_ = &upstream;
  ++lease_;
  phase_ = Phase::relaying;
  upstream.parser.reset(head_.method == "HEAD");
  request_done_ = request_head_sent_ = request_touched_ = false;
  response_head_done_ = false;
  if (!parser_.done() && in_.empty() && head_.version_minor > 0 &&
      http::list_contains(head_.fields.get(http::Known::expect), "100-continue")) {
    expect_due_ = server_.clock_.now() + kExpectWait;
    arm_timer();
  }
  pump_request();
  if (upstream_ != nullptr) upstream_->want_read();
}

void Exchange::detach_upstream(bool reusable) {
  if (connect_attempt_ != 0) {
    pool_->cancel_connect(connect_attempt_);
    connect_attempt_ = 0;
  }
  if (upstream_ == nullptr) return;
  ++lease_;
  upstream_writing_ = false;
  Upstream& upstream = *upstream_;
  upstream_ = nullptr;
  if (reusable) {
    if (upstream.in.capacity() > kLargeBuffer / 2) upstream.in.release();
    pool_->give_back(upstream);
  } else {
    pool_->discard(upstream);
  }
}

void Exchange::pump_request() {
  while (phase_ == Phase::relaying && !upstream_writing_ && !request_done_) {
    if (request_slice_ == 0 && !parser_.done() && !in_.empty()) {
      const http::Fed fed = parser_.feed_body(in_.data(), nullptr);
      // A chunk's header may be cut anywhere; what cannot be used yet needs room for the rest.
      const bool stuck = fed.used == 0 && in_.size() == in_.capacity();
      if (fed.state == http::Fed::State::bad || (stuck && in_.capacity() >= kLargeBuffer)) {
        refuse_body();
        return;
      }
      request_slice_ = fed.used;
      if (stuck) in_.reserve(kLargeBuffer);
    }
    if (request_slice_ == 0 && request_head_sent_) {
      request_done_ = parser_.done();
      want_client_read();
      return;
    }
    if (!write_upstream()) return;
    request_written();
  }
}

void Exchange::refuse_body() {
  if (response_begun_ || client_writing_) {
    abort(Outcome::End::aborted);
  } else {
    answer(http::response_for(Error::bad_request), Outcome::End::own);
  }
}

// Writes the head, unless it is out already, and the present slice of the body.
bool Exchange::write_upstream() {
  upstream_first_ = request_head_sent_ ? std::string_view{} : std::string_view{request_out_};
  upstream_second_ = in_.data().substr(0, request_slice_);
  if (upstream_first_.empty()) std::swap(upstream_first_, upstream_second_);
  bool would_block = false;
  const long sent = write_now(upstream_->socket, upstream_first_, upstream_second_, would_block);
  if (sent < 0) {
    // The upstream may have answered before it closed: the reading side decides what this was.
    request_done_ = true;
    return false;
  }
  if (sent > 0) request_touched_ = true;
  if (request_slice_ > 0 &&
      (request_head_sent_ || static_cast<std::size_t>(sent) > request_out_.size())) {
    body_sent_ = true;
  }
  if (!would_block) return true;
  const auto done = static_cast<std::size_t>(sent);
  const std::size_t of_first = std::min(done, upstream_first_.size());
  upstream_first_.remove_prefix(of_first);
  upstream_second_.remove_prefix(done - of_first);
  upstream_writing_ = true;
  continue_upstream_write();
  return false;
}

void Exchange::continue_upstream_write() {
  ++operations_;
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{upstream_first_.data(), upstream_first_.size()},
      asio::const_buffer{upstream_second_.data(), upstream_second_.size()}};
  upstream_->socket.async_write_some(
      parts, [this, lease = lease_](const error_code& ec, std::size_t bytes) {
        --operations_;
        if (phase_ == Phase::closed) {
          release_if_done();
          return;
        }
        if (lease != lease_) return;
        if (ec) {
          upstream_writing_ = false;
          request_done_ = true;
          return;
        }
        request_touched_ = true;
        body_sent_ = body_sent_ || request_slice_ > 0;
        const std::size_t of_first = std::min(bytes, upstream_first_.size());
        upstream_first_.remove_prefix(of_first);
        upstream_second_.remove_prefix(bytes - of_first);
        if (!upstream_first_.empty() || !upstream_second_.empty()) {
          continue_upstream_write();
          return;
        }
        upstream_writing_ = false;
        request_written();
        pump_request();
      });
}

void Exchange::request_written() {
  request_head_sent_ = true;
  const bool was_full = in_.room() == 0 && request_slice_ > 0;
  in_.consume(request_slice_);
  request_slice_ = 0;
  if (parser_.done()) {
    request_done_ = true;
    if (in_.capacity() > kKeptBuffer) in_.release();
    want_client_read();
  } else if (was_full && in_.capacity() < kLargeBuffer) {
    in_.reserve(kLargeBuffer);
  }
}

void Exchange::on_upstream_read(bool /*ended*/) {
  pump_response();
}

void Exchange::pump_response() {
  while (phase_ == Phase::relaying && !client_writing_) {
    const bool more = response_head_done_ ? relay_body() : take_response_head();
    if (!more) return;
  }
}

bool Exchange::take_response_head() {
  Upstream& upstream = *upstream_;
  http::Fed fed;
  if (!upstream.in.empty()) fed = upstream.parser.feed_head(upstream.in.data(), response_);
  switch (fed.state) {
    case http::Fed::State::need_more:
      upstream.in.consume(fed.used);
      if (upstream.ended()) {
        upstream_lost(Error::upstream_reset, "EOF\n");
        return false;
      }
      upstream.in.compact();
      if (upstream.in.room() == 0) upstream.in.reserve(upstream.in.capacity() * 2);
      upstream.want_read();
      return false;
    case http::Fed::State::bad:
    case http::Fed::State::too_large:
      upstream_lost(Error::upstream_invalid, "malformed HTTP response\n");
      return false;
    case http::Fed::State::done:
      break;
  }
  upstream.in.consume(fed.used);
  if (response_.status == 101) {
    upstream_lost(Error::upstream_invalid, "the service switched protocols unasked\n");
    return false;
  }
  if (response_.status < 200) return relay_interim();
  extra_.clear();
  if (server_.gateway_.response(*this, response_, extra_) == ResponseVerdict::retried) {
    return false;
  }
  const bool old_client = head_.version_minor == 0;
  response_rewrite_.body = http::ResponseBody::as_is;
  if (response_.framing == http::Framing::until_close) {
    response_rewrite_.body =
        old_client ? http::ResponseBody::to_close : http::ResponseBody::chunked;
  } else if (response_.framing == http::Framing::chunked && old_client) {
    response_rewrite_.body = http::ResponseBody::to_close;
  }
  closing_after_ = !head_.keep_alive || server_.closing_ || client_ended_ ||
                   response_rewrite_.body == http::ResponseBody::to_close;
  response_rewrite_.keep_alive = !closing_after_;
  response_rewrite_.client_minor = head_.version_minor;
  response_rewrite_.extra = extra_;
  out_.clear();
  http::write_response_head(out_, response_, response_rewrite_);
  response_head_done_ = true;
  return true;
}

// A 1xx goes on as it came, and the final status stays what the upstream says later.
bool Exchange::relay_interim() {
  upstream_->parser.reset(head_.method == "HEAD");
  expect_due_ = {};
  if (head_.version_minor == 0) return true;
  interim_sent_ = true;
  out_.clear();
  http::write_response_head(out_, response_, {});
  if (!write_client(out_, {})) return false;
  out_.clear();
  return phase_ == Phase::relaying;
}

bool Exchange::relay_body() {
  Upstream& upstream = *upstream_;
  const bool as_is = response_rewrite_.body == http::ResponseBody::as_is;
  std::size_t used = 0;
  decoded_.clear();
  if (!upstream.parser.done() && !upstream.in.empty()) {
    const http::Fed fed =
        upstream.parser.feed_body(upstream.in.data(), as_is ? nullptr : &decoded_);
    if (fed.state == http::Fed::State::bad) {
      abort(Outcome::End::aborted);
      return false;
    }
    used = fed.used;
  }
  bool at_close = false;
  // A chunk's header that was cut off stays unused: it is the end as well.
  if (!upstream.parser.done() && upstream.ended() && (used == 0 || used == upstream.in.size())) {
    if (upstream.failed() || !upstream.parser.finish_at_close()) {
      // What is whole goes out first: the client sees how far the upstream came, and no end.
      if (used > 0) write_client(out_, upstream.in.data().substr(0, used));
      if (phase_ == Phase::relaying) abort(Outcome::End::aborted);
      return false;
    }
    at_close = true;
  }
  if (response_rewrite_.body == http::ResponseBody::chunked) {
    append_chunk(out_, decoded_);
    if (at_close) out_.append("0\r\n\r\n");
  }
  std::string_view body = as_is ? upstream.in.data().substr(0, used) : std::string_view{};
  if (response_rewrite_.body == http::ResponseBody::to_close) body = decoded_;
  if (out_.empty() && body.empty()) {
    upstream.in.consume(used);
    if (upstream.parser.done()) {
      finish();
      return false;
    }
    upstream.in.compact();
    if (upstream.in.room() == 0 && upstream.in.capacity() >= kLargeBuffer) {
      abort(Outcome::End::aborted);  // a chunk header or trailer without end
      return false;
    }
    if (upstream.in.room() == 0) upstream.in.reserve(kLargeBuffer);
    upstream.want_read();
    return false;
  }
  consume_after_write_ = used;
  if (!write_client(out_, body)) return false;
  client_written();
  return false;
}

// Returns whether everything is out. False: the rest follows, or the client is gone.
bool Exchange::write_client(std::string_view first, std::string_view second) {
  if (first.empty()) std::swap(first, second);
  bool would_block = false;
  if (response_head_done_ || phase_ == Phase::answering) response_begun_ = true;
  if (timeouts_.idle) last_write_ = server_.clock_.now();
  const long sent = write_now(socket_, first, second, would_block);
  if (sent < 0) {
    leave();
    return false;
  }
  if (!would_block) return true;
  const auto done = static_cast<std::size_t>(sent);
  const std::size_t of_first = std::min(done, first.size());
  client_first_ = first.substr(of_first);
  client_second_ = second.substr(done - of_first);
  client_writing_ = true;
  continue_client_write();
  return false;
}

void Exchange::continue_client_write() {
  ++operations_;
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{client_first_.data(), client_first_.size()},
      asio::const_buffer{client_second_.data(), client_second_.size()}};
  socket_.async_write_some(parts, [this](const error_code& ec, std::size_t bytes) {
    --operations_;
    if (phase_ == Phase::closed) {
      release_if_done();
      return;
    }
    if (ec) {
      client_writing_ = false;
      leave();
      return;
    }
    if (timeouts_.idle) last_write_ = server_.clock_.now();
    const std::size_t of_first = std::min(bytes, client_first_.size());
    client_first_.remove_prefix(of_first);
    client_second_.remove_prefix(bytes - of_first);
    if (!client_first_.empty() || !client_second_.empty()) {
      continue_client_write();
      return;
    }
    client_writing_ = false;
    client_written();
  });
}

void Exchange::client_written() {
  out_.clear();
  if (phase_ == Phase::answering) {
    if (closing_after_) {
      close_gently();
    } else {
      next_request();
    }
    return;
  }
  if (phase_ != Phase::relaying) return;
  if (response_head_done_) {
    Upstream& upstream = *upstream_;
    const bool was_full = upstream.in.room() == 0 && consume_after_write_ > 0;
    upstream.in.consume(consume_after_write_);
    consume_after_write_ = 0;
    if (was_full && upstream.in.capacity() < kLargeBuffer) upstream.in.reserve(kLargeBuffer);
    if (upstream.parser.done()) {
      finish();
      return;
    }
  }
  pump_response();
}

void Exchange::upstream_lost(Error error, std::string text) {
  const bool silent = error == Error::upstream_reset && upstream_->in.empty() && !interim_sent_;
  const bool again =
      silent && upstream_->reused() && !retried_stale_ &&
      (!request_touched_ || (pool_->limits().repeat_repeatable && head_.repeatable()));
  if (!request_touched_) body_sent_ = false;
  detach_upstream(false);
  if (again) {
    retried_stale_ = true;
    connect_upstream();
    return;
  }
  phase_ = Phase::held;
  const ConnectFailure failure{error, std::move(text)};
  if (server_.gateway_.upstream_failed(*this, failure)) return;
  answer(http::response_for(failure.error, failure.text), Outcome::End::own);
}

}  // namespace sluice::net
