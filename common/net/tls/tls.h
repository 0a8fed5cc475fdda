#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::net {

/// What one step of a TLS session came to.
struct TlsStep {
  enum class State : std::uint8_t {
    done,        ///< it progressed by `bytes`
    want_read,   ///< nothing happened: bytes from the peer must come first
    want_write,  ///< nothing happened: the socket must take bytes first
    ended,       ///< the peer has finished sending
    failed,      ///< the session cannot be used any more
  };

  State state = State::failed;
  std::size_t bytes = 0;
};

/// One TLS connection over a socket that does not block. No step ever waits. The
/// library behind it is seen by its implementation alone, so that programs without a TLS listener
/// do not link it.
class TlsSession {
 public:
  virtual ~TlsSession() = default;

  /// Continues the handshake; `done` once.
  [[nodiscard]] virtual TlsStep::State handshake() = 0;

  /// Decrypts up to `size` bytes, at least one when `done`.
  [[nodiscard]] virtual TlsStep read(char* to, std::size_t size) = 0;

  /// Encrypts and sends from both parts what the socket takes now. Bytes that were not taken must
  /// come first in the next write. Never `ended`.
  [[nodiscard]] virtual TlsStep write(std::string_view first, std::string_view second) = 0;

  /// Whether a read may find something although the socket reports nothing new.
  [[nodiscard]] virtual bool may_have_more() const = 0;

  /// Announces to the peer that nothing follows, so that it can distinguish an end from a cut. Best
  /// effort.
  virtual void close_notify() = 0;

  /// After a failed handshake or read: why, for people; names no peer.
  [[nodiscard]] virtual std::string problem() const = 0;

  /// The protocol chosen by ALPN, as "h2"; empty when none was. After the handshake.
  [[nodiscard]] virtual std::string_view protocol() const = 0;

  /// After a failed handshake: the client spoke plain HTTP.
  [[nodiscard]] virtual bool is_plain_http() const = 0;
};

/// Makes the sessions of a listener.
class TlsSessions {
 public:
  virtual ~TlsSessions() = default;

  /// A session over the socket `descriptor`, which stays the caller's. Null when memory ran out.
  [[nodiscard]] virtual std::unique_ptr<TlsSession> make_session(int descriptor) = 0;
};

}  // namespace sluice::net
