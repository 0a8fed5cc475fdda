#pragma once

#include "load/io/h2_client.h"
#include "load/io/peer.h"
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sluice::loadgen {

/// The connections of HTTP/2 to one peer.
class H2Pool {
 public:
  class Owner {
   public:
    /// A connection was opened for the request of `exchange`.
    virtual void connected(Exchange& exchange) = 0;
    /// A connection or a stream failed with this text.
    virtual void failed(const std::string& text) = 0;
    /// There may be room for further requests.
    virtual void h2_changed() = 0;

   protected:
    ~Owner() = default;
  };

  /// `io`, `peer` and `owner` outlive it.
  H2Pool(boost::asio::io_context& io, const Peer& peer, const H2Limits& limits, Owner& owner);

  /// Whether a connection that is there takes one request more.
  [[nodiscard]] bool has_room();

  /// Connections that are there or are being opened.
  [[nodiscard]] std::size_t size() const;

  /// Sends a request where there is room, else on a new connection, else behind others.
  void submit(H2Exchange& exchange, const Request& request);

  /// A connection on which ALPN has chosen HTTP/2.
  void adopt(net::Stream stream);

  /// Closes all without a word to their requests.
  void close();

  /// Whether nothing is under way any more.
  [[nodiscard]] bool is_quiet() const;

  // For its connections.

  [[nodiscard]] const Peer& peer() const { return peer_; }

  [[nodiscard]] const H2Limits& limits() const { return limits_; }

  void connected(H2Exchange& exchange) { owner_.connected(exchange); }

  void failed(const std::string& text) { owner_.failed(text); }

  void changed() { owner_.h2_changed(); }

  void has_room_at(H2Client& client) { hint_ = &client; }

 private:
  H2Client* roomy();
  H2Client& open();
  void remove_gone();

  boost::asio::io_context& io_;
  const Peer& peer_;
  H2Limits limits_;
  Owner& owner_;
  std::vector<std::unique_ptr<H2Client>> clients_;
  H2Client* hint_ = nullptr;  // of clients_: where room was seen last
};

}  // namespace sluice::loadgen
