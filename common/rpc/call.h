#pragma once

#include "common/rpc/admission.h"
#include "common/rpc/ending.h"
#include "common/time/time_point.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace sluice::rpc {

/// Largest message, either way.
inline constexpr std::size_t kMessageBytesMax = std::size_t{4} << 20U;

/// A write that the peer has not taken for so long ends the call with RESOURCE_EXHAUSTED.
inline constexpr Duration kWriteLimit = std::chrono::seconds{10};

class CallState;

/// The server's end of one call: a stream of byte messages in both directions, used on the thread
/// of the io_context only. Messages are read one by one: the next is asked for when on_message has
/// returned, so a slow reader slows the peer down.
class Call {
 public:
  /// All run on the io thread, never from within a method of Call. Each may destroy the Call.
  struct Events {
    std::function<void(std::string)> on_message;
    std::function<void()> on_writable;             ///< after a write: there is room for the next
    std::function<void(const Ending&)> on_closed;  ///< the peer ended it; last event
  };

  /// For Server.
  Call(std::shared_ptr<CallState> state, std::string method, Peer peer);

  /// Closes with CANCELLED what is still open.
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Begins to read. Once.
  void start(Events events);

  /// Whether write() is allowed: one message is on its way at a time, nothing is queued.
  [[nodiscard]] bool writable() const;

  /// Sends a message of at most kMessageBytesMax bytes. Only when writable().
  void write(std::string bytes);

  /// Ends the call with this status; a write on its way may be lost. No event follows. Idempotent.
  void close(const Ending& ending);

  /// The path that was called, one of ServerOptions::methods.
  [[nodiscard]] const std::string& method() const { return method_; }

  /// Who called, as gRPC writes it: `ipv4:127.0.0.1:40123`.
  [[nodiscard]] const std::string& peer() const { return peer_.address; }

  /// The caller's identity by its certificate; nothing without TLS.
  [[nodiscard]] const Peer& caller() const { return peer_; }

 private:
  std::shared_ptr<CallState> state_;  // shared with what gRPC still posts to the io thread
  std::string method_;
  Peer peer_;
  bool started_ = false;
};

}  // namespace sluice::rpc
