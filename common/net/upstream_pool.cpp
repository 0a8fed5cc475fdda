#include "common/net/upstream_pool.h"

#include <algorithm>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;

// What the reference's 502 quotes when a connection cannot be made (queue-proxy.md 13, row 43).
std::string dial_text(const Address& target, const error_code& ec) {
  const std::string network = target.is_unix() ? "unix " + target.path : "tcp " + target.text();
  std::string reason = ec.message();
  if (ec == asio::error::connection_refused) reason = "connection refused";
  if (ec == error_code{ENOENT, boost::system::system_category()}) {
    reason = "no such file or directory";
  }
  return "dial " + network + ": connect: " + reason + "\n";
}

}  // namespace

Upstream::Upstream(UpstreamPool& pool, Socket opened)
    : socket{std::move(opened)}, parser{pool.limits_.head_bytes_max}, pool_{pool} {}

void Upstream::want_read() {
  if (reading_ || ended_) return;
  if (in.capacity() == 0) in.reserve(kFirstBuffer);
  in.compact();
  CHECK(in.room() > 0);
  reading_ = true;
  in.pin();
  socket.async_read_some(asio::buffer(in.tail(), in.room()),
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
    // Whatever an idle connection says, it said it to nobody: it is of no use any more.
    pool_.discard(*this);
    return;
  }
  if (user_ != nullptr) user_->on_upstream_read(ended_);
}

struct UpstreamPool::Attempt {
  std::uint64_t id;
  Socket socket;
  asio::steady_timer timer;
  UpstreamUser* user;
  Connected done;
  int pending = 2;  // the connect and the timer: both end before the attempt does
  bool answered = false;
  std::list<std::unique_ptr<Attempt>>::iterator place;
};

UpstreamPool::UpstreamPool(asio::io_context& io, const Address& target,
                           const UpstreamLimits& limits)
    : io_{io}, target_{target}, endpoint_{endpoint_of(target)}, limits_{limits}, sweep_timer_{io} {}

UpstreamPool::~UpstreamPool() {
  *alive_ = false;
}

Upstream* UpstreamPool::take_idle(UpstreamUser& user) {
  if (idle_.empty()) return nullptr;
  Upstream* upstream = idle_.back();
  idle_.pop_back();
  upstream->idle_ = false;
  upstream->user_ = &user;
  ++upstream->uses_;
  return upstream;
}

std::uint64_t UpstreamPool::connect(UpstreamUser& user, Connected done) {
  const std::uint64_t id = next_attempt_++;
  attempts_.push_back(std::unique_ptr<Attempt>{
      new Attempt{id, Socket{io_}, asio::steady_timer{io_}, &user, std::move(done), 2, false, {}}});
  Attempt& attempt = *attempts_.back();
  attempt.place = std::prev(attempts_.end());
  error_code opened;
  attempt.socket.open(endpoint_.protocol(), opened);
  attempt.timer.expires_after(limits_.connect_timeout);
  attempt.timer.async_wait([this, &attempt, alive = alive_](const error_code& ec) {
    if (!*alive) return;
    if (!ec && !attempt.answered) finish_attempt(attempt, asio::error::timed_out);
    if (--attempt.pending == 0) attempts_.erase(attempt.place);
  });
  const auto connected = [this, &attempt, alive = alive_](const error_code& ec) {
    if (!*alive) return;
    if (!attempt.answered) finish_attempt(attempt, ec);
    if (--attempt.pending == 0) attempts_.erase(attempt.place);
  };
  if (opened) {
    asio::post(io_, [connected, opened] { connected(opened); });
  } else {
    attempt.socket.async_connect(endpoint_, connected);
  }
  return id;
}

void UpstreamPool::finish_attempt(Attempt& attempt, const error_code& ec) {
  attempt.answered = true;
  attempt.timer.cancel();
  Connected done = std::move(attempt.done);
  if (ec) {
    error_code ignored;
    attempt.socket.close(ignored);
    const std::string text = ec == asio::error::timed_out
                                 ? "timed out dialing " + target_.text() + " after " +
                                       std::to_string(limits_.connect_timeout.count() / 1000) +
                                       "s\n"
                                 : dial_text(target_, ec);
    done(nullptr, {Error::upstream_connect, text});
    return;
  }
  all_.push_back(std::make_unique<Upstream>(*this, std::move(attempt.socket)));
  Upstream& upstream = *all_.back();
  upstream.place_ = std::prev(all_.end());
  prepare(upstream.socket);
  upstream.user_ = attempt.user;
  upstream.uses_ = 1;
  done(&upstream, {});
}

void UpstreamPool::cancel_connect(std::uint64_t id) {
  const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                  [id](const auto& attempt) { return attempt->id == id; });
  if (found == attempts_.end() || (*found)->answered) return;
  Attempt& attempt = **found;
  attempt.answered = true;
  attempt.timer.cancel();
  error_code ignored;
  attempt.socket.close(ignored);
}

void UpstreamPool::give_back(Upstream& upstream) {
  upstream.user_ = nullptr;
  if (closed_ || upstream.ended_ || !upstream.in.empty() || idle_.size() >= limits_.idle_max) {
    discard(upstream);
    return;
  }
  upstream.idle_ = true;
  upstream.idle_since_ = std::chrono::steady_clock::time_point::max();
  upstream.want_read();
  idle_.push_back(&upstream);
  arm_sweep();
}

void UpstreamPool::discard(Upstream& upstream) {
  if (upstream.discarded_) return;
  if (upstream.idle_) std::erase(idle_, &upstream);
  upstream.idle_ = false;
  upstream.user_ = nullptr;
  upstream.discarded_ = true;
  upstream.ended_ = true;
  error_code ignored;
  upstream.socket.close(ignored);
  if (!upstream.reading_) erase(upstream);
}

void UpstreamPool::erase(Upstream& upstream) {
  all_.erase(upstream.place_);
}

void UpstreamPool::close() {
  closed_ = true;
  sweep_timer_.cancel();
  while (!idle_.empty()) discard(*idle_.back());
}

// Connections are stamped by the sweep that first sees them idle, not when they are given back: the
// clock is then read once per sweep and not once per request. They live between one and one and a
// half idle timeouts.
void UpstreamPool::arm_sweep() {
  if (sweeping_) return;
  sweeping_ = true;
  sweep_timer_.expires_after(limits_.idle_timeout / 2);
  sweep_timer_.async_wait([this, alive = alive_](const error_code& ec) {
    if (!*alive) return;
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
