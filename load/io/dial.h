#pragma once

#include "common/net/socket.h"
#include "common/net/tls/tls.h"

#include <boost/asio/io_context.hpp>

#include "load/core/ending.h"
#include "load/io/peer.h"
#include <cstdint>
#include <memory>
#include <string>

namespace sluice::loadgen {

/// Opens a connection to a peer: TCP, then TLS where the peer is under it. One at a time.
class Dial {
 public:
  class Owner {
   public:
    /// The connection is there; socket and session may be taken.
    virtual void on_dialled() = 0;
    /// It is not, for this reason; `text` says it to a person.
    virtual void on_dial_failed(Ending ending, const std::string& text) = 0;

   protected:
    ~Owner() = default;
  };

  /// `owner` outlives every operation: it waits for pending() to reach zero after cancel().
  Dial(boost::asio::io_context& loop, Owner& owner);

  /// `peer` outlives the attempt. It calls its owner later, never from inside this call.
  void start(const Peer& peer);

  /// Ends the attempt; the owner does not hear of it.
  void cancel();

  /// After on_dialled.
  [[nodiscard]] net::Socket take_socket() { return std::move(socket_); }

  /// After on_dialled; null in clear text.
  [[nodiscard]] std::unique_ptr<net::TlsSession> take_session() { return std::move(session_); }

  /// Operations whose completion has not come yet.
  [[nodiscard]] unsigned pending() const { return pending_; }

 private:
  void on_connected(boost::system::error_code error);
  void shake_hands();
  void fail(Ending ending, const std::string& text);

  net::Socket socket_;
  std::unique_ptr<net::TlsSession> session_;
  const Peer* peer_ = nullptr;
  Owner& owner_;  // owns this
  unsigned pending_ = 0;
  std::uint64_t epoch_ = 0;  // completions of an earlier attempt are known by it
};

}  // namespace sluice::loadgen
