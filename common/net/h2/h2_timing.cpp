// The one timer of an HTTP/2 client connection: what is due, and what happens then.
#include "common/net/h2/h2_connection.h"
#include "common/net/server/proxy_server.h"

#include <algorithm>
#include <nghttp2/nghttp2.h>

namespace sluice::net {

using boost::system::error_code;

H2Connection::Due H2Connection::next_due() const {
  Due due;
  const auto consider = [&due](TimePoint at, Wake wake) {
    if (at != TimePoint{} && at < due.at) due = {at, wake, nullptr, Timer::none};
  };
  consider(head_due_, Wake::head);
  consider(idle_due_, Wake::idle);
  consider(unused_due_, Wake::unused);
  consider(farewell_due_, Wake::farewell);
  consider(stuck_due_, Wake::stuck);
  consider(linger_due_, Wake::linger);
  for (const auto& stream : streams_) {
    const ExchangeTimers::Due of_stream = stream->next_due();
    if (of_stream.at < due.at) due = {of_stream.at, Wake::stream, stream.get(), of_stream.timer};
  }
  return due;
}

// The timer is moved only when something is due earlier than it would fire; on firing it looks what
// is due by then.
void H2Connection::arm_timer(TimePoint at) {
  if (at == TimePoint::max() || at == TimePoint{} || link_closed()) return;
  if (timer_set_ && timer_at_ <= at) return;
  timer_set_ = true;
  timer_at_ = at;
  ++timers_pending_;
  timer_.expires_after(std::max(Duration{0}, at - server_.clock_.now()));
  timer_.async_wait([this](const error_code& ec) {
    --timers_pending_;
    if (released_) {
      on_link_released();
    } else if (!ec && !link_closed()) {
      on_timer();
    }
  });
}

void H2Connection::on_timer() {
  timer_set_ = false;
  const TimePoint now = server_.clock_.now();
  for (Due due = next_due(); due.at <= now && !link_closed(); due = next_due()) wake(due);
  if (!link_closed()) arm_timer(next_due().at);
}

void H2Connection::give_memory_back() {
  constexpr std::size_t kMuch = 1 << 20;
  spare_.clear();
  if (claimed_most_ >= kMuch) return_freed_pages();
  claimed_most_ = 0;
}

void H2Connection::wake(const Due& due) {
  switch (due.wake) {
    case Wake::none:
      return;
    case Wake::head:
      // A client that has not even sent its preface gets no words for it.
      head_due_ = {};
      nghttp2_session_terminate_session(session(), NGHTTP2_ENHANCE_YOUR_CALM);
      flush_soon();
      return;
    case Wake::idle:
      idle_due_ = {};
      give_memory_back();
      trim_link();
      return;
    case Wake::unused:
      unused_due_ = {};
      close_if_idle();
      return;
    case Wake::farewell:
      say_farewell();
      return;
    case Wake::stuck:
      stuck_due_ = {};
      if (bytes_sent() == stuck_at_) {
        abandon();
      } else {
        watch_writing();
      }
      return;
    case Wake::linger:
      linger_due_ = {};
      close_link();
      return;
    case Wake::stream:
      due.stream->on_timeout(due.timer);
      return;
  }
}

}  // namespace sluice::net
