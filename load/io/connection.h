#pragma once

#include <boost/asio/ip/tcp.hpp>

#include "load/core/replay.h"
#include "load/core/tally.h"
#include "load/io/wire_response.h"
#include <array>
#include <list>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// One client connection with at most one request on its way. It connects when it must, keeps alive
/// when it may, and reports to its owner how each request ended, exactly once. All calls and all
/// answers happen on the thread of the io_context.
class Connection {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The request of `connection` has ended; it may be given the next one at once.
    /// Status and the like are read from `connection.response()`.
    virtual void ended(Connection& connection, Ending ending) = 0;
    /// An idle connection was closed by the peer.
    virtual void dropped(Connection& connection) = 0;
    /// A connection attempt or a connection failed with this text.
    virtual void failed(const std::string& text) = 0;
  };

  /// `owner` outlives every operation: it waits for pending() to reach zero after close().
  Connection(boost::asio::io_context& loop, Owner& owner);

  /// Where to connect when it sends next; of an open connection the place it is connected to.
  void aim(const boost::asio::ip::tcp::endpoint& peer) { peer_ = peer; }

  /// Sends `head` and `body`; both are borrowed until the end is reported. `to_head`: a HEAD
  /// request.
  void send(std::string_view head, std::string_view body, bool to_head);

  /// Closes at once, without an event.
  void close();

  [[nodiscard]] bool is_open() const { return state_ == State::ready; }

  [[nodiscard]] bool is_connecting() const { return state_ == State::connecting; }

  [[nodiscard]] const WireResponse& response() const { return response_; }

  [[nodiscard]] WireResponse& response() { return response_; }

  /// How many requests were sent on it since it was opened.
  [[nodiscard]] std::uint64_t carried() const { return carried_; }

  /// Operations whose completion has not come yet.
  [[nodiscard]] unsigned pending() const { return pending_; }

  // The request on its way, kept here for the owner's book-keeping.
  PlannedRequest planned;
  Duration taken{0};
  Duration idle_since{0};
  std::string head;                       ///< a buffer that keeps its capacity
  std::list<Connection>* list = nullptr;  ///< the owner's list it is in
  std::list<Connection>::iterator place;  ///< and where in it

 private:
  enum class State { closed, connecting, ready };

  void connect();
  void write();
  void read();
  void on_read(boost::system::error_code error, std::size_t bytes);
  void take_bytes();
  void end(Ending ending);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::endpoint peer_;
  Owner& owner_;  // owns this connection
  WireResponse response_;
  std::string_view request_head_;
  std::string_view request_body_;
  State state_ = State::closed;
  bool busy_ = false;
  bool writing_ = false;
  std::uint64_t carried_ = 0;
  unsigned pending_ = 0;
  // Completions of an earlier socket may still be queued when a new one is opened: each operation
  // remembers the socket it belongs to and is ignored when that one is gone.
  std::uint64_t epoch_ = 0;
  std::size_t filled_ = 0;
  std::array<char, WireResponse::kHeaderBytesMax> buffer_;
};

}  // namespace sluice::loadgen
