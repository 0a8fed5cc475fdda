#include "common/net/server/exchange_timers.h"

namespace sluice::net {

std::string limit_text(Duration limit) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (milliseconds % 1000 == 0) return std::to_string(milliseconds / 1000) + "s";
  return std::to_string(milliseconds) + "ms";
}

void ExchangeTimers::begin(TimePoint arrived) {
  timeouts_ = {};
  arrived_ = last_move_ = arrived;
}

// A 1xx starts the response, but bounds nothing: one that only says 100 must still end.
ExchangeTimers::Due ExchangeTimers::next(Sent sent) const {
  Due due;
  const auto consider = [&due](TimePoint at, Timer timer) {
    if (at < due.at) due = {at, timer};
  };
  if (timeouts_.max && !(timeouts_.until_first_byte && sent == Sent::response)) {
    consider(arrived_ + *timeouts_.max, Timer::max);
  }
  if (timeouts_.response_start && sent == Sent::nothing) {
    consider(arrived_ + *timeouts_.response_start, Timer::response_start);
  }
  if (timeouts_.idle) consider(last_move_ + *timeouts_.idle, Timer::idle);
  return due;
}

http::OwnResponse ExchangeTimers::response(Timer timer, const Gateway& gateway) const {
  std::string facts;
  switch (timer) {
    case Timer::none:
    case Timer::header:
    case Timer::body:
    case Timer::write:
      break;
    case Timer::max:
      facts = "timer=max; limit=" + limit_text(*timeouts_.max);
      break;
    case Timer::response_start:
      facts = "timer=response-start; limit=" + limit_text(*timeouts_.response_start);
      break;
    case Timer::idle:
      facts = "timer=idle; limit=" + limit_text(*timeouts_.idle);
      break;
  }
  facts.append("; at=").append(gateway.place());
  return http::response_for(Error::deadline_exceeded, gateway.timeout_text(), facts);
}

}  // namespace sluice::net
