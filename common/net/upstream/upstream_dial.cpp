// How a pool gets a new connection: tries and rests as the plan says, then hands shaken.

#include "common/net/upstream/upstream_attempt.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::chrono::seconds kHandshakeTime{10};
constexpr int kHandshakeTrips = 4;
constexpr std::chrono::seconds kPodSilence{5};  // activator.md 7

void shut(Socket& socket) {
  error_code ignored;
  socket.close(ignored);
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

UpstreamPool::Attempt& UpstreamPool::new_attempt(UpstreamUser& user, TlsSessions* tls,
                                                 Connected done) {
  const std::uint64_t id = next_attempt_++;
  attempts_.push_back(std::unique_ptr<Attempt>{
      new Attempt{id, Socket{io_}, Socket{io_}, asio::steady_timer{io_}, &user, tls,
                  std::move(done), DialPlan{id, limits_.connect_timeout, round_trip_}}});
  Attempt& attempt = *attempts_.back();
  attempt.place = std::prev(attempts_.end());
  return attempt;
}

std::uint64_t UpstreamPool::dial(UpstreamUser& user, TlsSessions* tls, Connected done) {
  Attempt& attempt = new_attempt(user, tls, std::move(done));
  start_try(attempt);
  return attempt.id;
}

std::uint64_t UpstreamPool::connect(UpstreamUser& user, Connected done) {
  Attempt& attempt = new_attempt(user, tls_.h1, std::move(done));
  if (crowd_.empty() && pace_.take()) {
    start_try(attempt);
  } else {
    crowd_.push_back(&attempt);
  }
  pace();
  return attempt.id;
}

void UpstreamPool::pace() {
  if (pacing_) return;
  pacing_ = true;
  pace_timer_.expires_after(DialPace::kTick);
  pace_timer_.async_wait([this, alive = alive_.watch()](const error_code& ec) {
    if (alive.over()) return;
    pacing_ = false;
    if (ec) return;
    if (crowd_.empty()) {
      pace_.rest();
      return;
    }
    pace_.tick();
    while (!crowd_.empty() && pace_.take()) {
      Attempt& attempt = *crowd_.front();
      crowd_.pop_front();
      start_try(attempt);
    }
    pace();
  });
}

// The longest waiting gets it, on the next turn of the loop: the code that gave it back is not done
// yet.
void UpstreamPool::hand_over(Upstream& upstream) {
  Attempt& attempt = *crowd_.front();
  crowd_.pop_front();
  attempt.given = &upstream;
  ++attempt.pending;
  asio::post(io_, [this, &attempt, alive = alive_.watch()] {
    if (alive.over()) return;
    --attempt.pending;
    if (!attempt.answered) take_over(attempt);
    release(attempt);
  });
}

void UpstreamPool::take_over(Attempt& attempt) {
  Upstream& upstream = *std::exchange(attempt.given, nullptr);
  if (upstream.ended_ || !upstream.in.empty() || !is_silent(upstream.stream.socket())) {
    discard(upstream);
    start_try(attempt);
    return;
  }
  attempt.answered = true;
  upstream.user_ = attempt.user;
  ++upstream.uses_;
  const Connected done = std::move(attempt.done);
  done(&upstream, {});
}

void UpstreamPool::start_try(Attempt& attempt) {
  attempt.resting = false;
  const int round = ++attempt.round;
  Socket& socket = round == 1 ? attempt.first : attempt.again;
  error_code opened;
  socket.open(endpoint_.protocol(), opened);
  const auto answer = [this, &attempt, &socket, round,
                       alive = alive_.watch()](const error_code& ec) {
    if (!alive.over()) on_connect(attempt, socket, round, ec);
  };
  ++attempt.pending;
  if (opened) {
    asio::post(io_, [answer, opened] { answer(opened); });
    return;
  }
  socket.async_connect(endpoint_, answer);
  dial_again_after(attempt, std::max<Duration>(attempt.plan.next_try(), Duration{1}));
}

void UpstreamPool::on_connect(Attempt& attempt, Socket& socket, int round, const error_code& ec) {
  --attempt.pending;
  const bool current = round == attempt.round && !attempt.resting;
  if (attempt.answered || attempt.won != nullptr || (!current && (ec || round > 1))) {
    // The outcome is known, or a later try will tell it.
  } else if (!ec) {
    connected(attempt, socket);
  } else if (ec == asio::error::timed_out || ec == asio::error::try_again) {
    rest(attempt);  // also a Unix socket whose backlog is full
  } else {
    fail(attempt, ec);
  }
  release(attempt);
}

void UpstreamPool::on_dial_timer(Attempt& attempt) {
  if (attempt.won != nullptr) {
    fail(attempt, {Error::upstream_connect,
                   "the TLS handshake with " + target_.text() + " timed out\n", true, true});
  } else if (attempt.resting) {
    start_try(attempt);
  } else {
    rest(attempt);
  }
}

void UpstreamPool::rest(Attempt& attempt) {
  shut(attempt.again);
  attempt.resting = true;
  const Duration pause = attempt.plan.rest();
  if (pause == Duration{0} || attempt.round >= DialPlan::kTries) {
    fail(attempt, asio::error::timed_out);
    return;
  }
  dial_again_after(attempt, pause);
}

void UpstreamPool::dial_again_after(Attempt& attempt, Duration pause) {
  attempt.timer.expires_after(pause);
  ++attempt.pending;
  attempt.timer.async_wait(
      [this, &attempt, alive = alive_.watch(), wait = ++attempt.waits](const error_code& ec) {
        if (alive.over()) return;
        --attempt.pending;
        // A wait that was over may be reported although the timer was set again meanwhile.
        if (!ec && !attempt.answered && wait == attempt.waits) on_dial_timer(attempt);
        release(attempt);
      });
}

void UpstreamPool::release(Attempt& attempt) {
  if (attempt.answered && attempt.pending == 0) attempts_.erase(attempt.place);
}

void UpstreamPool::connected(Attempt& attempt, Socket& socket) {
  attempt.won = &socket;
  shut(&socket == &attempt.first ? attempt.again : attempt.first);
  prepare(socket);
  if (!is_local(endpoint_)) ask_if_alive(socket.native_handle(), kPodSilence);
  if (const Duration measured = round_trip_of(socket); measured > Duration{0}) {
    round_trip_ = round_trip_ == Duration{0} ? measured : (round_trip_ * 7 + measured) / 8;
  }
  if (attempt.tls == nullptr) {
    succeed(attempt);
    return;
  }
  attempt.session = attempt.tls->make_session(socket.native_handle());
  dial_again_after(attempt, within(kHandshakeTime, kHandshakeTrips));
  shake_hands(attempt);
}

void UpstreamPool::shake_hands(Attempt& attempt) {
  const auto state = attempt.session ? attempt.session->handshake() : TlsStep::State::failed;
  if (state == TlsStep::State::done) {
    succeed(attempt);
    return;
  }
  if (state != TlsStep::State::want_read && state != TlsStep::State::want_write) {
    const std::string reason = attempt.session ? attempt.session->problem() : "out of memory";
    fail(attempt, {Error::upstream_connect,
                   "dial tcp " + target_.text() + ": tls: " + reason + "\n", true, false});
    return;
  }
  ++attempt.pending;
  const auto what = state == TlsStep::State::want_read ? Socket::wait_read : Socket::wait_write;
  attempt.won->async_wait(what, [this, &attempt, alive = alive_.watch()](const error_code& ec) {
    if (alive.over()) return;
    --attempt.pending;
    if (!ec && !attempt.answered) shake_hands(attempt);
    release(attempt);
  });
}

void UpstreamPool::fail(Attempt& attempt, const error_code& ec) {
  if (ec != asio::error::timed_out) {
    fail(attempt, {Error::upstream_connect, dial_text(target_, ec), true, false});
    return;
  }
  fail(attempt, {Error::upstream_connect,
                 "timed out dialing " + target_.text() + " after " +
                     std::to_string(limits_.connect_timeout.count() / 1000) + "s\n",
                 true, true});
}

// The caller's release comes after both, so the attempt outlives what `done` does.
void UpstreamPool::fail(Attempt& attempt, ConnectFailure failure) {
  attempt.answered = true;
  attempt.timer.cancel();
  shut(attempt.first);
  shut(attempt.again);
  const Connected done = std::move(attempt.done);
  done(nullptr, failure);
}

void UpstreamPool::succeed(Attempt& attempt) {
  attempt.answered = true;
  attempt.timer.cancel();
  const Connected done = std::move(attempt.done);
  all_.push_back(std::make_unique<Upstream>(
      *this, Stream{std::move(*attempt.won), std::move(attempt.session)}));
  Upstream& upstream = *all_.back();
  upstream.place_ = std::prev(all_.end());
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
  shut(attempt.first);
  shut(attempt.again);
  std::erase(crowd_, &attempt);
  if (attempt.given != nullptr) give_back(*std::exchange(attempt.given, nullptr));
  release(attempt);
}

}  // namespace sluice::net
