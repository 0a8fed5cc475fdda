// The way of a request to its upstream: finding a connection, then the pump of head and body. It
// moves bytes through the client's own buffer: read, let the parser find the end, write the same
// bytes, use them up. The pump waits for its writer, so a slow upstream slows the client, and
// memory stays bounded whatever the body's size.

#include "common/net/h1/h1_exchange.h"
#include "common/net/server/proxy_server.h"

#include <boost/asio/buffer.hpp>

#include <algorithm>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kKeptBuffer = 16 * 1024;
constexpr Duration kExpectWait = std::chrono::seconds{1};

// A protocol's name goes into a header line and perhaps into logs.
bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

http::OwnResponse unprintable_protocol() {
  http::OwnResponse refusal = http::response_for(
      Error::bad_request, "the request asks to upgrade to a protocol whose name is not printable\n",
      "reason=upgrade");
  refusal.status = 502;
  return refusal;
}

}  // namespace

void H1Exchange::forward(UpstreamPool& pool, const http::RequestRewrite& rewrite) {
  CHECK(begun_ && !body_sent_);
  unwatch();
  detach_upstream(false);
  if (!printable(http::asked_protocol(head_))) {
    answer(unprintable_protocol());
    return;
  }
  if (traffic_.dispatched == TimePoint{}) {
    // A request that never waited needs no second look at the clock.
    traffic_.dispatched = waited_ ? server_.clock_.now() : arrived_;
  }
  pool_ = &pool;
  request_out_.clear();
  http::RequestRewrite addressed = rewrite;
  addressed.address = pool.authority();
  http::write_request_head(request_out_, head_, addressed);
  retried_stale_ = false;
  const bool repeatable = pool.limits().repeat_repeatable && head_.repeatable();
  if (Upstream* idle = pool.take_idle(*this, !repeatable)) {
    attach(*idle);
  } else {
    connect_upstream();
  }
}

void H1Exchange::connect_upstream() {
  phase_ = Phase::connecting;
  const auto connected = [this](Upstream* upstream, const ConnectFailure& failure) {
    on_connected(upstream, failure);
  };
  // There is one repeat, which must not meet another stale connection.
  connect_attempt_ =
      retried_stale_ ? pool_->connect_fresh(*this, connected) : pool_->connect(*this, connected);
  if (parser_.done()) want_client_read();
}

void H1Exchange::on_connected(Upstream* upstream, const ConnectFailure& failure) {
  connect_attempt_ = 0;
  if (upstream != nullptr) {
    attach(*upstream);
    return;
  }
  tell_lost(failure);
}

void H1Exchange::attach(Upstream& upstream) {
  upstream_ = &upstream;
  ++lease_;
  phase_ = Phase::relaying;
  upstream.parser.reset(head_.method == "HEAD");
  request_done_ = request_head_sent_ = request_touched_ = false;
  response_head_done_ = response_done_ = false;
  if (!parser_.done()) {
    if (in_.empty() && expects_continue()) {
      expect_due_ = server_.clock_.now() + kExpectWait;
      arm_timer();
    }
    note_body_progress();
  }
  gather_upload();
  pump_request();
  if (upstream_ != nullptr) upstream_->want_read();
}

// A read that filled the buffer to its brim has left more behind. Taking it before the first write
// saves that write: head and a small body go out together.
void H1Exchange::gather_upload() {
  if (parser_.done() || reading_ || in_.room() > 0 || in_.empty() || stream_.encrypted()) return;
  if (request_slice_ > 0) return;  // a waiting write still points into the buffer
  in_.enlarge();
  if (in_.room() == 0) return;
  const long got = read_now(stream_.socket(), in_.tail(), in_.room());
  // Nothing there, an end or an error: the next read tells.
  if (got > 0) in_.filled(static_cast<std::size_t>(got));
}

void H1Exchange::detach_upstream(bool reusable) {
  if (connect_attempt_ != 0) {
    pool_->cancel_connect(connect_attempt_);
    connect_attempt_ = 0;
  }
  if (upstream_ == nullptr) return;
  ++lease_;
  upstream_writing_ = false;
  Upstream& upstream = *upstream_;
  upstream_ = nullptr;
  if (response_head_done_ && !tunnel_) traffic_.response_bytes = upstream.parser.content_bytes();
  if (reusable) {
    pool_->give_back(upstream);
  } else {
    pool_->discard(upstream);
  }
}

// The time within which the client has to send more of its body, if there is such a limit.
void H1Exchange::note_body_progress() {
  const Duration limit = server_.limits_.body_timeout;
  if (limit == Duration{0} || parser_.done()) return;
  body_due_ = server_.clock_.now() + limit;
  arm_timer();
}

void H1Exchange::pump_request() {
  push_request();
  if (phase_ == Phase::relaying && response_done_ && request_done_) finish();
}

void H1Exchange::push_request() {
  while (phase_ == Phase::relaying && !upstream_writing_ && !request_done_) {
    if (request_slice_ == 0 && !parser_.done() && !in_.empty()) {
      const http::Fed fed = parser_.relay_body(in_.data());
      if (fed.state == http::Fed::State::bad) {
        refuse_body(fed.why);
        return;
      }
      in_.consume(fed.dropped);
      if (fed.dropped > 0) continue;
      request_slice_ = fed.used;
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

void H1Exchange::refuse_body(std::string_view why) {
  if (response_begun_ || client_writing_) {
    abort({Outcome::End::aborted, 0, Error::bad_request, Timer::none});
  } else {
    answer(http::response_for(Error::bad_request, {}, why));
  }
}

// Writes the head, unless it is out already, and the present slice of the body.
bool H1Exchange::write_upstream() {
  upstream_first_ = request_head_sent_ ? std::string_view{} : std::string_view{request_out_};
  upstream_second_ = in_.data().substr(0, request_slice_);
  if (upstream_first_.empty()) std::swap(upstream_first_, upstream_second_);
  bool would_block = false;
  const long sent = upstream_->stream.write_now(upstream_first_, upstream_second_, would_block);
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

void H1Exchange::continue_upstream_write() {
  ++operations_;
  const std::array<asio::const_buffer, 2> parts{
      asio::const_buffer{upstream_first_.data(), upstream_first_.size()},
      asio::const_buffer{upstream_second_.data(), upstream_second_.size()}};
  upstream_->stream.async_write_some(
      parts, [this, lease = lease_](const error_code& ec, std::size_t bytes) {
        --operations_;
        if (phase_ == Phase::closed) {
          release_if_done();
        } else if (lease == lease_) {
          on_upstream_written(ec, bytes);
        }
      });
}

void H1Exchange::on_upstream_written(const error_code& ec, std::size_t bytes) {
  if (ec) {
    upstream_writing_ = false;
    request_done_ = true;
    if (phase_ == Phase::tunnel) {
      pump_to_upstream();
    } else if (response_done_) {
      finish();
    }
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
  if (phase_ == Phase::tunnel) {
    request_head_sent_ = true;
    sent_to_upstream();
    pump_to_upstream();
    return;
  }
  request_written();
  pump_request();
}

void H1Exchange::request_written() {
  request_head_sent_ = true;
  const bool was_full = in_.room() == 0 && request_slice_ > 0;
  in_.consume(request_slice_);
  request_slice_ = 0;
  if (parser_.done()) {
    request_done_ = true;
    in_.shrink(kKeptBuffer);
    want_client_read();
    return;
  }
  if (was_full) in_.enlarge();
  note_body_progress();
  if (response_done_) {
    linger_due_ = server_.clock_.now() + server_.limits_.upload_patience;
    arm_timer();
  }
}

}  // namespace sluice::net
