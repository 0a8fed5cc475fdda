#include "common/net/h1/h1_leg.h"

#include "common/net/h2/h2_upstream.h"

#include <boost/asio/buffer.hpp>

namespace sluice::net {
using boost::system::error_code;

namespace {

constexpr std::size_t kUnconsumedMax = 256 * 1024;
constexpr std::size_t kLargeBuffer = 64 * 1024;

}  // namespace

H1Leg::H1Leg(UpstreamPool& pool, H2UpstreamUser& user, std::string request, bool to_head,
             Connection wanted)
    : pool_{pool}, user_{user}, request_{std::move(request)}, to_head_{to_head} {
  Upstream* const idle = wanted == Connection::pooled ? pool_.take_idle(*this, true) : nullptr;
  if (idle != nullptr) {
    attach(*idle);
  } else {
    connect(wanted);
  }
}

void H1Leg::connect(Connection wanted) {
  const auto connected = [this](Upstream* made, const ConnectFailure& failure) {
    attempt_ = 0;
    if (made == nullptr) {
      user_.on_upstream_failed({failure, true, false});
      return;
    }
    attach(*made);
    user_.on_upstream_sent();
  };
  attempt_ = wanted == Connection::fresh ? pool_.connect_fresh(*this, connected)
                                         : pool_.connect(*this, connected);
}

H1Leg::~H1Leg() {
  alive_.end();
  done(false);
}

void H1Leg::done(bool reusable) {
  if (attempt_ != 0) pool_.cancel_connect(attempt_);
  attempt_ = 0;
  if (upstream_ == nullptr) return;
  Upstream& upstream = *upstream_;
  upstream_ = nullptr;
  if (reusable) {
    pool_.give_back(upstream);
  } else {
    pool_.discard(upstream);
  }
}

void H1Leg::attach(Upstream& upstream) {
  upstream_ = &upstream;
  upstream.parser.reset(to_head_);
  write();
  if (upstream_ != nullptr) upstream_->want_read();
}

void H1Leg::write() {
  bool would_block = false;
  const std::string_view rest = std::string_view{request_}.substr(written_);
  const long sent = upstream_->stream.write_now(rest, {}, would_block);
  if (sent < 0) return;  // the reading side says what it was
  written_ += static_cast<std::size_t>(sent);
  if (!would_block) return;
  upstream_->stream.socket().async_wait(
      Socket::wait_write,
      [this, alive = alive_.watch(), upstream = upstream_](const error_code& ec) {
        if (!alive.over() && !ec && upstream_ == upstream) write();
      });
}

void H1Leg::on_upstream_read(bool /*ended*/) {
  pump();
}

void H1Leg::consumed(std::size_t bytes) {
  const bool was_full = unconsumed_ >= kUnconsumedMax;
  unconsumed_ -= std::min(bytes, unconsumed_);
  if (was_full && unconsumed_ < kUnconsumedMax && upstream_ != nullptr) upstream_->want_read();
}

void H1Leg::lost(Error error, std::string text) {
  const bool stale =
      error == Error::upstream_reset && upstream_->reused() && !head_done_ && upstream_->in.empty();
  done(false);
  if (stale) {
    written_ = 0;
    connect(Connection::fresh);
    return;
  }
  user_.on_upstream_failed({{error, std::move(text)}, false, false});
}

// Each call to the user may end the leg.
void H1Leg::pump() {
  const Lifetime::Watch alive = alive_.watch();
  while (!alive.over() && upstream_ != nullptr) {
    Upstream& upstream = *upstream_;
    if (!head_done_) {
      http::Fed fed;
      if (!upstream.in.empty()) {
        fed = upstream.parser.feed_head(upstream.in.data(), user_.response_head());
      }
      upstream.in.consume(fed.used);
      if (fed.state == http::Fed::State::need_more) {
        if (upstream.ended()) {
          lost(Error::upstream_reset, "EOF\n");
          return;
        }
        upstream.in.compact();
        if (upstream.in.room() == 0) upstream.in.reserve(upstream.in.capacity() * 2);
        upstream.want_read();
        return;
      }
      if (fed.state != http::Fed::State::done || user_.response_head().status == 101) {
        lost(Error::upstream_invalid, "malformed HTTP response\n");
        return;
      }
      if (user_.response_head().status < 200) {
        user_.on_upstream_interim();
        if (!alive.over() && upstream_ != nullptr) upstream_->parser.reset(to_head_);
        continue;
      }
      head_done_ = true;
      user_.on_upstream_head(upstream.parser.done());
      continue;
    }
    decoded_.clear();
    if (!upstream.parser.done() && !upstream.in.empty()) {
      const http::Fed fed = upstream.parser.feed_body(upstream.in.data(), &decoded_);
      if (fed.state == http::Fed::State::bad) {
        lost(Error::upstream_invalid, "malformed HTTP response\n");
        return;
      }
      upstream.in.consume(fed.used);
    }
    if (!decoded_.empty()) {
      unconsumed_ += decoded_.size();
      user_.on_upstream_data(decoded_);
      continue;
    }
    const bool ended = upstream.ended();
    if (upstream.parser.done() ||
        (ended && !upstream.failed() && upstream.parser.finish_at_close())) {
      done(!ended && user_.response_head().keep_alive && written_ == request_.size());
      user_.on_upstream_end();
      return;
    }
    if (ended || (upstream.in.room() == 0 && upstream.in.capacity() >= kLargeBuffer &&
                  upstream.in.size() == upstream.in.capacity())) {
      lost(Error::upstream_reset, "EOF\n");
      return;
    }
    upstream.in.compact();
    if (upstream.in.room() == 0) upstream.in.reserve(kLargeBuffer);
    if (unconsumed_ < kUnconsumedMax) upstream.want_read();
    return;
  }
}

}  // namespace sluice::net
