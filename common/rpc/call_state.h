#pragma once

#include "common/base/lifetime.h"
#include "common/rpc/call.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

// Inside common/rpc: one call as both the io thread and gRPC's threads see it.
namespace sluice::rpc {

/// gRPC's end of a call, which outlives neither its finish() nor what gRPC still does for it. All
/// is asked on the io thread, and nothing after finish().
class CallWire {
 public:
  virtual ~CallWire() = default;

  virtual void read() = 0;                    ///< then CallState::read_done
  virtual void write(std::string bytes) = 0;  ///< then CallState::write_done

  enum class End : std::uint8_t {
    peer_gone,    ///< it is over anyway
    ours,         ///< we end it; nothing is on its way
    ours_unread,  ///< we end it; a write is on its way, perhaps without end
  };
  virtual void finish(const Ending& ending, End how) = 0;
};

/// What a call is to its user. Shared by the user's handle and by gRPC's callbacks, which reach it
/// through posts to the io thread only; so it lives and dies there.
class CallState {
 public:
  CallState(boost::asio::io_context& io, Duration write_limit);

  /// gRPC's end, until it is finished.
  void attach(CallWire& wire) { wire_ = &wire; }

  [[nodiscard]] bool attached() const { return wire_ != nullptr; }

  [[nodiscard]] boost::asio::io_context& io() const { return io_; }

  void listen(Call::Events events);
  void read();

  [[nodiscard]] bool writable() const { return wire_ && !write_pending_; }

  void write(std::string bytes);

  /// Ends the call; no event follows.
  void close(const Ending& ending);

  /// Ends the call for a reason of our own, and reports it.
  void fail(const Ending& ending) { over(ending, false); }

  // What gRPC's callbacks post:
  void read_done(std::optional<std::string> bytes);
  void write_done(bool ok);

  void peer_gone(const Ending& ending) { over(ending, true); }

 private:
  void over(const Ending& ending, bool peer_gone);
  void finish(const Ending& ending, bool peer_gone);

  boost::asio::io_context& io_;  // of the program; the Server or Client is gone before it
  Duration write_limit_;
  CallWire* wire_ = nullptr;  // belongs to gRPC, which keeps it until finish()
  std::shared_ptr<const Call::Events> events_;
  bool write_pending_ = false;
  std::uint64_t writes_ = 0;  // so that a timer that has just fired for one does not end the next
  // Absent when the call is over, since the state may then outlive the io_context's services.
  std::optional<boost::asio::steady_timer> write_timer_;
  Lifetime alive_;
};

}  // namespace sluice::rpc
