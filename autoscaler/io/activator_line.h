#pragma once

#include "common/messages/activator_stream.h"
#include "common/rpc/ending.h"

#include <functional>
#include <optional>
#include <string>

namespace sluice::autoscaler {

/// The autoscaler's end of one stream from an activator, whatever carries the messages.
class ActivatorLine {
 public:
  /// All run on the loop, never from within a method of the line. Each may destroy the line.
  struct Events {
    std::function<void(proto::ActivatorMessage)> on_message;
    std::function<void()> on_unreadable;                ///< a message that is none came
    std::function<void()> on_writable;                  ///< after a write: there is room again
    std::function<void(const rpc::Ending&)> on_closed;  ///< the activator ended it; last event
  };

  virtual ~ActivatorLine() = default;

  /// Begins to read. Once.
  virtual void start(Events events) = 0;

  /// Whether write() is allowed.
  [[nodiscard]] virtual bool writable() const = 0;

  /// Sends a message. Only when writable().
  virtual void write(const proto::AutoscalerMessage& message) = 0;

  /// Ends the stream with this status. No event follows. Idempotent.
  virtual void close(const rpc::Ending& ending) = 0;

  /// Who is at the other end, for logs.
  [[nodiscard]] virtual std::string peer() const = 0;
};

}  // namespace sluice::autoscaler
