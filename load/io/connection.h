#pragma once

#include "common/net/tls/client_tls.h"

#include <boost/asio/ip/tcp.hpp>

#include "load/core/replay.h"
#include "load/core/tally.h"
#include "load/io/wire_response.h"
#include <array>
#include <list>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::loadgen {

/// Where connections lead.
struct Peer {
  boost::asio::ip::tcp::endpoint endpoint;
  const net::ClientTls* tls = nullptr;  ///< null: in clear text
  std::string name = {};                ///< under TLS the name or IP that the peer has to prove
};

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
    /// `connection` was opened for the request on its way.
    virtual void connected(Connection& connection) = 0;
    /// An idle connection was closed by the peer.
    virtual void dropped(Connection& connection) = 0;
    /// A connection attempt or a connection failed with this text.
    virtual void failed(const std::string& text) = 0;
  };

  /// `owner` outlives every operation: it waits for pending() to reach zero after close().
  Connection(boost::asio::io_context& loop, Owner& owner);

  /// Where to connect when it sends next; of an open connection the place it is connected to.
  /// `peer` outlives the connection.
  void aim(const Peer& peer) { peer_ = &peer; }

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
  void on_connected(boost::system::error_code error);
  void shake_hands();
  void opened();
  void write();
  void write_plain();
  void write_encrypted();
  void read();
  void read_encrypted();
  template <class Step>
  void when_ready(net::TlsStep::State what, Step step);
  [[nodiscard]] std::string place_text() const;
  void on_read(boost::system::error_code error, std::size_t bytes);
  void take_bytes();
  void end(Ending ending);

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<net::TlsSession> tls_;  // over socket_; null: in clear text
  const Peer* peer_ = nullptr;
  Owner& owner_;  // owns this connection
  WireResponse response_;
  std::string_view request_head_;
  std::string_view request_body_;  // under TLS both are what is left to be written
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
