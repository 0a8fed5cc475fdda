#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// How a request ended. What is no answer is an error of its kind, by the names of the reports.
enum class Ending : std::uint8_t {
  answered,         ///< a whole response came, whatever its status
  connect_refused,  ///< no connection, by the peer's word or the network's; nothing was sent
  connect_timeout,  ///< no connection within the timeout; nothing was sent
  no_local_port,    ///< this machine had no port, descriptor or memory for a connection
  tls,              ///< the handshake failed; nothing was sent
  reset,            ///< the connection went away before the whole response came
  timeout,          ///< no whole response within the timeout
  invalid,          ///< the peer's bytes are not a response
  h2,               ///< a stream or a connection of HTTP/2 was ended by the peer with an error
  grpc,             ///< a call ended with another status than OK
  ws,               ///< a WebSocket's handshake or frames were not as they have to be
};

inline constexpr std::array<Ending, 11> kEndings{Ending::answered,
                                                 Ending::connect_refused,
                                                 Ending::connect_timeout,
                                                 Ending::no_local_port,
                                                 Ending::tls,
                                                 Ending::reset,
                                                 Ending::timeout,
                                                 Ending::invalid,
                                                 Ending::h2,
                                                 Ending::grpc,
                                                 Ending::ws};

/// `connect_refused` and so on, as in reports.
[[nodiscard]] constexpr std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::answered:
      return "answered";
    case Ending::connect_refused:
      return "connect_refused";
    case Ending::connect_timeout:
      return "connect_timeout";
    case Ending::no_local_port:
      return "no_local_port";
    case Ending::tls:
      return "tls";
    case Ending::reset:
      return "reset";
    case Ending::timeout:
      return "timeout";
    case Ending::invalid:
      return "invalid";
    case Ending::h2:
      return "h2";
    case Ending::grpc:
      return "grpc";
    case Ending::ws:
      return "ws";
  }
  return {};
}

/// The time given to the request ran out: it counts in the latency with that time.
[[nodiscard]] constexpr bool timed_out(Ending ending) {
  return ending == Ending::timeout || ending == Ending::connect_timeout;
}

/// It counts in the latency: its answer came whole, or the time given to it ran out.
[[nodiscard]] constexpr bool has_latency(Ending ending) {
  return ending == Ending::answered || ending == Ending::grpc || timed_out(ending);
}

/// There was no connection, so nothing was sent.
[[nodiscard]] constexpr bool is_unconnected(Ending ending) {
  return ending == Ending::connect_refused || ending == Ending::connect_timeout ||
         ending == Ending::no_local_port || ending == Ending::tls;
}

}  // namespace sluice::loadgen
