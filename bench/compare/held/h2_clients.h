#pragma once

#include "bench/compare/held/tally.h"
#include "common/net/socket.h"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::held {

/// Clients of HTTP/2 with prior knowledge: many requests at once on each connection.
class H2Clients {
 public:
  /// `host`: the authority of every request.
  H2Clients(boost::asio::io_context& io, const net::Address& server, std::string host,
            Tally& tally);
  ~H2Clients();
  H2Clients(const H2Clients&) = delete;
  H2Clients& operator=(const H2Clients&) = delete;

  /// Opens one connection, which sends `streams` requests, numbered from `first`. `sent` is called
  /// when they are out.
  void send(std::size_t streams, std::uint64_t first, std::function<void()> sent);

 private:
  struct Client;

  boost::asio::io_context& io_;
  net::Endpoint server_;
  std::string host_;
  Tally& tally_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace sluice::held
