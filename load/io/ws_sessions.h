#pragma once

#include <boost/asio/io_context.hpp>

#include "load/core/ending.h"
#include "load/core/load_plan.h"
#include "load/io/peer.h"
#include "load/io/ws_plan.h"
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sluice::loadgen {

class WsSession;

/// One session of WebSocket, as it is planned.
struct WsOrder {
  PlannedRequest planned;  ///< when it begins, and with it its first message
  Duration taken{0};       ///< when it was taken up
  const WsPlan* what = nullptr;
  const Peer* peer = nullptr;
  Duration every{0};           ///< from message to message
  std::uint64_t messages = 1;  ///< at least 1
  Duration until{0};           ///< it stays open to then, since the start of the run
  Duration timeout{0};         ///< of each message
};

/// How many messages a session that is planned for `at` has: `target` holds it for a time, and
/// nothing but the first is planned for `end` or later.
[[nodiscard]] std::uint64_t ws_messages(const TargetPlan& target, Duration at, Duration end);

/// The sessions of WebSocket of a run. Each of their messages is a request of the run with a
/// planned time of its own; its latency ends with the message that the server answers.
class WsSessions {
 public:
  class Owner {
   public:
    virtual void ws_sent(const PlannedRequest& message, Duration taken) = 0;
    virtual void ws_ended(const PlannedRequest& message, Duration taken, Ending ending,
                          std::uint64_t bytes) = 0;
    virtual void ws_unsent(const PlannedRequest& message) = 0;
    /// The connection of a session took this long.
    virtual void ws_connected(const PlannedRequest& first, Duration taken) = 0;
    virtual void ws_failed(const std::string& text) = 0;
    /// A session is over.
    virtual void ws_over() = 0;
    /// Since the start of the run.
    [[nodiscard]] virtual Duration ws_now() const = 0;

   protected:
    ~Owner() = default;
  };

  /// Bytes that one session reads at once.
  static constexpr std::size_t kReadBytes = 64U << 10U;

  WsSessions(boost::asio::io_context& io, Owner& owner);
  ~WsSessions();
  WsSessions(const WsSessions&) = delete;
  WsSessions& operator=(const WsSessions&) = delete;

  /// What `order` points to outlives the session.
  void start(const WsOrder& order);

  /// Sessions that are not over.
  [[nodiscard]] std::size_t size() const { return active_; }

  /// Ends all: what waits for an answer has timed out, what was not sent yet never is.
  void give_up();

  /// Ends all without a word.
  void close();

  /// Whether nothing is under way any more.
  [[nodiscard]] bool is_quiet() const;

  // For the sessions.

  [[nodiscard]] Owner& owner() { return owner_; }

  /// Shared: a session reads what is there, and keeps nothing of it.
  [[nodiscard]] std::array<char, kReadBytes>& buffer() { return *buffer_; }

  void is_over();

 private:
  void remove_over();

  boost::asio::io_context& io_;
  Owner& owner_;
  std::unique_ptr<std::array<char, kReadBytes>> buffer_;
  std::vector<std::unique_ptr<WsSession>> sessions_;
  std::size_t active_ = 0;
  bool told_ = false;  // a call to the owner is posted
};

}  // namespace sluice::loadgen
