#pragma once

#include "common/net/server/hangup_watch.h"
#include "common/net/socket.h"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>

namespace sluice::rpc {

/// Connections in gRPC's hands on which no call has come: those that shake hands, for the most
/// part, whose memory gRPC bounds by time alone. So many there may be; for one more, the one that
/// came first is ended. A connection that has made a call no longer counts. Belongs to
/// one thread.
class Uncalled {
 public:
  static constexpr std::size_t kMax = 256;

  /// `ended`: called with the address of each that was closed for another, as net::ip_of.
  Uncalled(boost::asio::io_context& io, std::function<void(const std::string& ip)> ended);
  ~Uncalled();
  Uncalled(const Uncalled&) = delete;
  Uncalled& operator=(const Uncalled&) = delete;

  /// To be called before gRPC gets the connection.
  void add(net::Socket& socket);

  /// A call has come from that port. Of several addresses with that port all are taken for the
  /// caller: gRPC writes addresses in its own way, and what is shaking hands there has gRPC's own
  /// time.
  void called(std::uint16_t port);

  [[nodiscard]] std::size_t size() const { return open_.size(); }

 private:
  struct Open {
    int descriptor;  // ours, of the same connection
    std::uint16_t port;
    std::string ip;
  };

  void forget(std::list<Open>::iterator each);

  std::function<void(const std::string&)> ended_;
  std::list<Open> open_;  // in the order of their coming
  net::HangupWatch hangups_;
};

/// The port of a peer as gRPC writes it, `ipv4:127.0.0.1:40123`; 0: it has none.
[[nodiscard]] std::uint16_t port_of(const std::string& peer);

}  // namespace sluice::rpc
