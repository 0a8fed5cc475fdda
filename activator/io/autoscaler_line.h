#pragma once

#include "common/base/result.h"
#include "common/messages/activator_stream.h"
#include "common/rpc/ending.h"
#include "common/time/time_point.h"

#include <functional>
#include <memory>
#include <string>

namespace sluice::activator {

/// The activator's end of the stream to one replica of the autoscaler, made again for as long as it
/// lives, whatever carries the messages.
class AutoscalerLine {
 public:
  /// All run on the loop, never from within a method of the line. None may destroy the line.
  struct Events {
    std::function<void()> on_connected;  ///< writable
    std::function<void(proto::AutoscalerMessage)> on_message;
    std::function<void()> on_unreadable;  ///< a message that is none came
    std::function<void()> on_writable;    ///< after a write: there is room again
    /// `connected` false: this attempt never reached the replica.
    std::function<void(const rpc::Ending&, bool connected)> on_closed;
  };

  virtual ~AutoscalerLine() = default;

  /// Makes the first attempt. Once.
  virtual void start() = 0;

  /// Whether write() is allowed.
  [[nodiscard]] virtual bool writable() const = 0;

  /// Sends a message. Only when writable().
  virtual void write(const proto::ActivatorMessage& message) = 0;

  /// Gives this connection up; on_closed follows with this ending, then the next attempt.
  virtual void reconnect(const rpc::Ending& why) = 0;

  /// What it leads to.
  [[nodiscard]] virtual const std::string& target() const = 0;
};

/// Makes lines.
class AutoscalerDialler {
 public:
  virtual ~AutoscalerDialler() = default;

  /// Problem: what it needs for that cannot be read.
  [[nodiscard]] virtual Result<std::unique_ptr<AutoscalerLine>, Problem> dial(
      const std::string& target, AutoscalerLine::Events events) = 0;
};

}  // namespace sluice::activator
