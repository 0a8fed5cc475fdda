#pragma once

#include "common/net/tls/client_tls.h"

#include <boost/asio/ip/tcp.hpp>

#include "load/core/target.h"
#include <string>

namespace sluice::loadgen {

/// Where connections lead, and what is spoken there.
struct Peer {
  boost::asio::ip::tcp::endpoint endpoint;
  const net::ClientTls* tls = nullptr;  ///< null: in clear text
  std::string name = {};                ///< under TLS the name or IP that the peer has to prove
  Protocol protocol = Protocol::http1;

  friend bool operator==(const Peer&, const Peer&) = default;

  /// As in texts for people: `127.0.0.1:8080`.
  [[nodiscard]] std::string text() const {
    return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
  }
};

}  // namespace sluice::loadgen
