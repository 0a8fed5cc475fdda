#pragma once

#include "common/net/server/exchange.h"

namespace sluice::net {

/// The revision's three timers of one exchange as a value (queue-proxy.md 8): which fires next, and
/// what is said then. Times are arguments.
class ExchangeTimers {
 public:
  struct Due {
    TimePoint at = TimePoint::max();
    Timer timer = Timer::none;
  };

  /// How far the response has come: nothing of it, a 1xx of it, or a byte of the final one went to
  /// the client.
  enum class Sent : std::uint8_t { nothing, interim, response };

  /// A new request, `arrived` then; all timers off.
  void begin(TimePoint arrived);

  void set(const Timeouts& timeouts) { timeouts_ = timeouts; }

  /// Bytes of the response, or of a tunnel in either direction, moved.
  void moved(TimePoint now) { last_move_ = now; }

  /// Whether `moved` is worth a look at the clock.
  [[nodiscard]] bool watch_idle() const { return timeouts_.idle.has_value(); }

  /// Whether a tunnel's first byte is the service's own.
  [[nodiscard]] bool until_first_byte() const { return timeouts_.until_first_byte; }

  /// The earliest timer.
  [[nodiscard]] Due next(Sent sent) const;

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
