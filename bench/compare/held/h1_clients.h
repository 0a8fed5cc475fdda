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

/// Clients of HTTP/1.1, one request on a connection at a time. A request says its number:
/// `GET /?id=7`.
class H1Clients {
 public:
  using Sent = std::function<void()>;

  /// `host`: of every request.
  H1Clients(boost::asio::io_context& io, const net::Address& server, std::string host,
            Tally& tally);
  ~H1Clients();
  H1Clients(const H1Clients&) = delete;
  H1Clients& operator=(const H1Clients&) = delete;

  /// `count` clients send one request each, numbered from `first`; those that wait for no answer go
  /// first, and what lacks is opened. `sent` is called when the last one is out.
  void send(std::size_t count, std::uint64_t first, Sent sent);

  /// Until `stop`, every client that has its answer asks again.
  void loop();

  void stop() { looping_ = false; }

  [[nodiscard]] std::uint64_t answers() const { return answers_; }

  [[nodiscard]] std::size_t open() const { return clients_.size(); }

 private:
  struct Client;

  void dial(Client& client);
  void dial_next();
  void ask(Client& client);
  void ask_next(Client& client);
  void read(Client& client);
  void take(Client& client);
  void fail(Client& client);

  boost::asio::io_context& io_;
  net::Endpoint server_;
  std::string host_;
  Tally& tally_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t dialled_ = 0;  // of clients_, those whose dial began
  std::size_t dialling_ = 0;
  std::uint64_t next_ = 0;  // the next request's number
  std::uint64_t to_send_ = 0;
  Sent sent_;
  std::uint64_t answers_ = 0;
  bool looping_ = false;
};

}  // namespace sluice::held
