#include "common/net/upstream_pool.h"

#include "common/net/dial_plan.h"
#include "common/net/h2_upstream.h"

#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kFirstBuffer = 8 * 1024;
constexpr std::size_t kKeptBuffer = 32 * 1024;

// Whether nothing has come and the peer has not closed.
bool is_silent(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

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
    : socket{std::move(opened)},
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
  DialPlan plan;
  int round = 0;    // of tries; a connect of an earlier one says nothing any more
  int pending = 0;  // waits and connects that still point here
  bool resting = false;
  bool answered = false;
  std::list<std::unique_ptr<Attempt>>::iterator place{};
};

UpstreamPool::UpstreamPool(asio::io_context& io, const Address& target,
                           const UpstreamLimits& limits)
    : io_{io}, target_{target}, endpoint_{endpoint_of(target)}, limits_{limits}, sweep_timer_{io} {}

UpstreamPool::~UpstreamPool() {
  *alive_ = false;
}

Upstream* UpstreamPool::take_idle(UpstreamUser& user, bool checked) {
  while (checked && !idle_.empty() && !is_silent(idle_.back()->socket)) discard(*idle_.back());
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
  attempts_.push_back(
      std::unique_ptr<Attempt>{new Attempt{id, Socket{io_}, asio::steady_timer{io_}, &user,
                                           std::move(done), DialPlan{id, limits_.connect_timeout}}});
  Attempt& attempt = *attempts_.back();
  attempt.place = std::prev(attempts_.end());
  start_try(attempt);
  return id;
}

void UpstreamPool::start_try(Attempt& attempt) {
  attempt.resting = false;
  const int round = ++attempt.round;
  error_code opened;
  attempt.socket.open(endpoint_.protocol(), opened);
  const auto connected = [this, &attempt, round, alive = alive_](const error_code& ec) {
    if (*alive) on_connect(attempt, round, ec);
  };
  ++attempt.pending;
  if (opened) {
    asio::post(io_, [connected, opened] { connected(opened); });
    return;
  }
  attempt.socket.async_connect(endpoint_, connected);
  dial_again_after(attempt, std::max<Duration>(attempt.plan.next_try(), Duration{1}));
}

void UpstreamPool::on_connect(Attempt& attempt, int round, const error_code& ec) {
  --attempt.pending;
  if (round == attempt.round && !attempt.resting && !attempt.answered) {
    if (ec == asio::error::timed_out || ec == asio::error::try_again) {
      rest(attempt);  // also a Unix socket whose backlog is full
    } else {
      finish_attempt(attempt, ec);
    }
  }
  release(attempt);
}

void UpstreamPool::on_dial_timer(Attempt& attempt) {
  if (attempt.resting) {
    start_try(attempt);
  } else {
    rest(attempt);
  }
}

void UpstreamPool::rest(Attempt& attempt) {
  error_code ignored;
  attempt.socket.close(ignored);
  attempt.resting = true;
  const Duration pause = attempt.plan.rest();
  if (pause == Duration{0} || attempt.round >= DialPlan::kTries) {
    finish_attempt(attempt, asio::error::timed_out);
    return;
  }
  dial_again_after(attempt, pause);
}

void UpstreamPool::dial_again_after(Attempt& attempt, Duration pause) {
  attempt.timer.expires_after(pause);
  ++attempt.pending;
  attempt.timer.async_wait([this, &attempt, alive = alive_](const error_code& ec) {
    if (!*alive) return;
    --attempt.pending;
    if (!ec && !attempt.answered) on_dial_timer(attempt);
    release(attempt);
  });
}

void UpstreamPool::release(Attempt& attempt) {
  if (attempt.answered && attempt.pending == 0) attempts_.erase(attempt.place);
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
  upstream.in.shrink(kKeptBuffer);
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
