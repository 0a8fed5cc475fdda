#pragma once

#include "common/net/exchange.h"

namespace sluice::net {

/// The revision's three timers of one exchange as a value (queue-proxy.md 8): who fires next, and
/// what is said then. Times are arguments.
class ExchangeTimers {
 public:
  struct Due {
    TimePoint at = TimePoint::max();
    Timer timer = Timer::none;
  };

  /// A new request, `arrived` then; all timers off.
  void begin(TimePoint arrived);

  void set(const Timeouts& timeouts) { timeouts_ = timeouts; }

  /// Bytes of the response, or of a tunnel in either direction, moved.
  void moved(TimePoint now) { last_move_ = now; }

  /// Whether `moved` is worth a look at the clock.
  [[nodiscard]] bool watch_idle() const { return timeouts_.idle.has_value(); }

  /// The earliest timer. `answered`: some byte of a response went out, so the response did start.
  [[nodiscard]] Due next(bool answered) const;

  /// The 504 for a timer that fired before the first byte.
  [[nodiscard]] http::OwnResponse response(Timer timer, const Gateway& gateway) const;

 private:
  Timeouts timeouts_;
  TimePoint arrived_{};
  TimePoint last_move_{};
};

/// A duration as Sluice-Error writes it: `5s`, `250ms`.
[[nodiscard]] std::string limit_text(Duration limit);

}  // namespace sluice::net
