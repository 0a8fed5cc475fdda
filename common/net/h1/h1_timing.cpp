// What an HTTP/1 exchange does when time passes: one timer for all that it waits for.

#include "common/net/h1/h1_exchange.h"
#include "common/net/server/proxy_server.h"

#include <algorithm>

namespace sluice::net {
using boost::system::error_code;

namespace {

constexpr int kSwitched = 101;

}  // namespace

ExchangeTimers::Sent H1Exchange::sent() const {
  using Sent = ExchangeTimers::Sent;
  if (phase_ == Phase::tunnel && timers_.until_first_byte() && traffic_.response_bytes == 0) {
    return Sent::nothing;
  }
  if (response_begun_) return Sent::response;
  return interim_sent_ ? Sent::interim : Sent::nothing;
}

H1Exchange::Due H1Exchange::next_due() const {
  Due due;
  const auto consider = [&due](TimePoint at, Wake wake) {
    if (at != TimePoint{} && at < due.at) due = {at, wake, Timer::none};
  };
  if (phase_ == Phase::head || phase_ == Phase::switching) consider(head_due_, Wake::head);
  if (phase_ == Phase::head && in_.empty()) consider(unused_due_, Wake::unused);
  if (phase_ == Phase::closing || phase_ == Phase::tunnel || response_done_) {
    consider(linger_due_, Wake::linger);
  }
  if (client_writing_) consider(write_due_, Wake::write);
  if (begun_) {
    if (phase_ == Phase::relaying && !upstream_writing_ && !parser_.done()) {
      consider(body_due_, Wake::body);
    }
    consider(peer_check_at_, Wake::peer);
    consider(expect_due_, Wake::expect);
    const ExchangeTimers::Due request = timers_.next(sent());
    if (request.at < due.at) due = {request.at, Wake::request, request.timer};
  }
  return due;
}

// The timer is moved only when something is due earlier than it would fire; on firing it looks what
// is due by then. A keep-alive connection thus sets it once per timeout and not once per request.
void H1Exchange::arm_timer() {
  const Due due = next_due();
  if (due.wake == Wake::none || phase_ == Phase::closed) return;
  if (timer_set_ && timer_at_ <= due.at) return;
  timer_set_ = true;
  timer_at_ = due.at;
  ++operations_;
  timer_.expires_after(std::max(Duration{0}, due.at - server_.clock_.now()));
  timer_.async_wait([this](const error_code& ec) {
    --operations_;
    if (phase_ == Phase::closed) {
      release_if_done();
    } else if (!ec) {
      on_timer();
    }
  });
}

void H1Exchange::on_timer() {
  timer_set_ = false;
  if (unused_unstamped_) {
    unused_unstamped_ = false;
    unused_due_ = server_.clock_.now() + server_.limits_.unused_timeout;
  }
  const Due due = next_due();
  if (due.wake == Wake::none) return;
  if (server_.clock_.now() < due.at) {
    arm_timer();
    return;
  }
  on_wake(due);
}

void H1Exchange::on_wake(const Due& due) {
  switch (due.wake) {
    case Wake::none:
      return;
    case Wake::linger:
      linger_due_ = {};
      if (phase_ == Phase::relaying) {
        finish();
      } else if (phase_ == Phase::tunnel) {
        end_tunnel({Outcome::End::answered, 101, {}, Timer::none});
      } else {
        close();
      }
      return;
    case Wake::unused:
      close();
      return;
    case Wake::peer:
      peer_check_at_ = {};
      check_peer();
      arm_timer();
      return;
    case Wake::expect:
      expect_due_ = {};
      if (!client_writing_ && !response_begun_ &&
          write_client("HTTP/1.1 100 Continue\r\n\r\n", {})) {
        interim_sent_ = continued_ = true;
      }
      arm_timer();
      return;
    case Wake::body:
      on_late_body();
      return;
    case Wake::write:
      on_stuck_client();
      return;
    case Wake::head:
      on_late_head();
      return;
    case Wake::request:
      on_timeout(due.timer);
      return;
  }
}

// A client that sent nothing yet just loses its connection.
void H1Exchange::on_late_head() {
  if (in_.empty()) {
    close();
    return;
  }
  refuse_late(Timer::header, "timer=header; limit=" + limit_text(server_.limits_.head_timeout) +
                                 "; setting=SLUICE_HEADER_TIMEOUT");
}

// The upstream would take more and the client sends none.
void H1Exchange::on_late_body() {
  body_due_ = {};
  if (response_begun_ || client_writing_) {
    abort({Outcome::End::timed_out, 0, Error::deadline_exceeded, Timer::body});
    return;
  }
  refuse_late(Timer::body, "timer=body; limit=" + limit_text(server_.limits_.body_timeout) +
                               "; setting=SLUICE_BODY_TIMEOUT");
}

// The client takes none of what is written to it: its request ends, and gives its place back.
void H1Exchange::on_stuck_client() {
  write_due_ = {};
  if (phase_ == Phase::tunnel) {
    end_tunnel({Outcome::End::timed_out, kSwitched, Error::deadline_exceeded, Timer::write});
  } else if (begun_) {
    abort({Outcome::End::timed_out, 0, Error::deadline_exceeded, Timer::write});
  } else {
    close();
  }
}

void H1Exchange::refuse_late(Timer fired, const std::string& facts) {
  http::OwnResponse late = http::response_for(Error::deadline_exceeded, "request timeout\n", facts);
  late.status = 408;
  late.close = true;
  answer(late, fired);
}

void H1Exchange::on_timeout(Timer timer) {
  if (phase_ == Phase::tunnel) {
    cut_tunnel(timer);
  } else if (response_begun_ || client_writing_) {
    abort({Outcome::End::timed_out, 0, Error::deadline_exceeded, timer});
  } else {
    answer(timers_.response(timer, server_.gateway_), timer);
  }
}

}  // namespace sluice::net
