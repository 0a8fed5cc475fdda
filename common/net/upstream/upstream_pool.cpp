#include "common/net/upstream/upstream_pool.h"

#include "common/net/h2/h2_upstream.h"
#include "common/net/upstream/upstream_attempt.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kKeptBuffer = 32 * 1024;

}  // namespace

bool is_silent(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

Upstream::Upstream(UpstreamPool& pool, Stream opened)
    : stream{std::move(opened)},
      in{&pool.blocks_},
      parser{pool.limits_.head_bytes_max, pool.limits_.fields_max},
      pool_{pool} {}

void Upstream::want_read() {
  if (reading_ || ended_) return;
  if (in.capacity() == 0) in.reserve(kFirstBuffer);
  in.compact();
  CHECK(in.room() > 0);
  reading_ = true;
  in.pin();
  stream.async_read_some(asio::buffer(in.tail(), in.room()),
                         [this](const error_code& ec, std::size_t bytes) { on_read(ec, bytes); });
}

void Upstream::on_read(const error_code& ec, std::size_t bytes) {
  reading_ = false;
  in.unpin();
  if (discarded_) {
    pool_.erase(*this);
    return;
  }
  if (ec) {
    ended_ = true;
    failed_ = ec != asio::error::eof;
  } else {
    in.filled(bytes);
  }
  if (idle_) {
    // Whatever an idle connection sends has no reader: it cannot be used any more.
    pool_.discard(*this);
    return;
  }
  if (user_ != nullptr) user_->on_upstream_read(ended_);
}

UpstreamPool::UpstreamPool(asio::io_context& io, const Address& target,
                           const UpstreamLimits& limits, const UpstreamTls& tls)
    : io_{io},
      target_{target},
      authority_{target.is_unix() ? "localhost" : target.text()},
      endpoint_{endpoint_of(target)},
      limits_{limits},
      tls_{tls},
      round_trip_{limits.round_trip},
      pace_timer_{io},
      sweep_timer_{io} {}

UpstreamPool::~UpstreamPool() {
  alive_.end();
  if (limits_.shared != nullptr) limits_.shared->kept -= idle_.size();
}

Upstream* UpstreamPool::take_idle(UpstreamUser& user, bool checked) {
  while (checked && !idle_.empty() && !is_silent(idle_.back()->stream.socket()))
    discard(*idle_.back());
  if (idle_.empty()) return nullptr;
  Upstream* upstream = idle_.back();
  idle_.pop_back();
  note_idle(*upstream, false);
  upstream->user_ = &user;
  ++upstream->uses_;
  return upstream;
}

void UpstreamPool::give_back(Upstream& upstream) {
  upstream.user_ = nullptr;
  const TlsSession* const tls = upstream.stream.tls();
  const bool usable =
      !upstream.ended_ && upstream.in.empty() && (tls == nullptr || !tls->may_have_more());
  if (usable && !crowd_.empty()) {
    pace_.returned();
    hand_over(upstream);
    return;
  }
  const bool full = idle_.size() >= limits_.idle_max ||
                    (limits_.shared != nullptr && limits_.shared->kept >= limits_.shared->most);
  if (closed_ || !usable || full) {
    discard(upstream);
    return;
  }
  upstream.in.shrink(kKeptBuffer);
  note_idle(upstream, true);
  upstream.idle_since_ = std::chrono::steady_clock::time_point::max();
  upstream.want_read();
  idle_.push_back(&upstream);
  arm_sweep();
}

void UpstreamPool::discard(Upstream& upstream) {
  if (upstream.discarded_) return;
  if (upstream.idle_) {
    std::erase(idle_, &upstream);
    note_idle(upstream, false);
  }
  upstream.user_ = nullptr;
  upstream.discarded_ = true;
  upstream.ended_ = true;
  upstream.stream.close();
  if (!upstream.reading_) erase(upstream);
}

void UpstreamPool::note_idle(Upstream& upstream, bool idle) {
  upstream.idle_ = idle;
  if (limits_.shared == nullptr) return;
  if (idle) {
    ++limits_.shared->kept;
  } else {
    --limits_.shared->kept;
  }
}

void UpstreamPool::erase(Upstream& upstream) {
  all_.erase(upstream.place_);
}

H2Upstreams& UpstreamPool::h2() {
  if (!h2_) h2_ = std::make_unique<H2Upstreams>(io_, *this);
  return *h2_;
}

bool UpstreamPool::at_rest() const {
  return all_.empty() && attempts_.empty() && (!h2_ || h2_->at_rest());
}

void UpstreamPool::close() {
  closed_ = true;
  if (h2_) h2_->close();
  sweep_timer_.cancel();
  close_idle();
}

// Connections are stamped by the sweep that first sees them idle, not when they are given back: the
// clock is then read once per sweep and not once per request. They live between one and one and a
// half idle timeouts.
void UpstreamPool::arm_sweep() {
  if (sweeping_) return;
  sweeping_ = true;
  sweep_timer_.expires_after(limits_.idle_timeout / 2);
  sweep_timer_.async_wait([this, alive = alive_.watch()](const error_code& ec) {
    if (alive.over()) return;
    sweeping_ = false;
    if (!ec) sweep();
  });
}

void UpstreamPool::sweep() {
  const auto now = sweep_timer_.expiry();
  const std::vector<Upstream*> candidates = idle_;
  for (Upstream* upstream : candidates) {
    if (upstream->idle_since_ == std::chrono::steady_clock::time_point::max()) {
      upstream->idle_since_ = now;
    } else if (now - upstream->idle_since_ >= limits_.idle_timeout) {
      discard(*upstream);
    }
  }
  if (!idle_.empty() && !closed_) arm_sweep();
}

}  // namespace sluice::net
