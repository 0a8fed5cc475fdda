#include "common/net/proxy_server.h"

#include "common/net/h1_exchange.h"
#include "common/net/h2_connection.h"
#include "common/net/tls_handshake.h"

#include <boost/asio/post.hpp>

#include <algorithm>

namespace sluice::net {
namespace {

// Between two looks for a connection that can go.
constexpr Duration kRoomPause = std::chrono::milliseconds{100};
constexpr std::size_t kManyConnections = 512;  // fewer are not worth a look for their pages
constexpr std::size_t kConnectionBytes = 8 * 1024;

}  // namespace

ProxyServer::ProxyServer(boost::asio::io_context& io, const Clock& clock, Gateway& gateway,
                         const ServerLimits& limits)
    : io_{io},
      clock_{clock},
      gateway_{gateway},
      limits_{limits},
      hangups_{io, [](void* key) { static_cast<H1Exchange*>(key)->on_hangup(); }},
      heads_{limits.open_heads_bytes_max},
      pages_{io},
      room_timer_{io} {}

ProxyServer::~ProxyServer() {
  *alive_ = false;
}

Result<Address, Problem> ProxyServer::listen(const Address& address) {
  auto listener =
      std::make_unique<Listener>(io_, [this](Socket socket) { accepted(std::move(socket)); });
  auto bound = listener->open(address);
  if (bound) listeners_.push_back(std::move(listener));
  return bound;
}

Result<Address, Problem> ProxyServer::adopt(int descriptor) {
  auto listener =
      std::make_unique<Listener>(io_, [this](Socket socket) { accepted(std::move(socket)); });
  auto bound = listener->adopt(descriptor);
  if (bound) listeners_.push_back(std::move(listener));
  return bound;
}

Result<Address, Problem> ProxyServer::listen_tls(const Address& address, TlsSessions& sessions) {
  auto listener = std::make_unique<Listener>(io_, [this, &sessions](Socket socket) {
    prepare(socket);
    add(std::make_unique<TlsHandshake>(*this, sessions, std::move(socket)));
  });
  auto bound = listener->open(address);
  if (bound) listeners_.push_back(std::move(listener));
  return bound;
}

void ProxyServer::secured(Stream stream, bool h2, TimePoint accepted) {
  if (h2) {
    add(std::make_unique<H2Connection>(*this, std::move(stream), std::string_view{}));
    return;
  }
  add(std::make_unique<H1Exchange>(*this, std::move(stream), accepted));
}

void ProxyServer::accepted(Socket socket) {
  prepare(socket);
  add(std::make_unique<H1Exchange>(*this, Stream{std::move(socket)}));
}

void ProxyServer::add(std::unique_ptr<Connection> added) {
  connections_.push_back(std::move(added));
  Connection& connection = *connections_.back();
  connection.place_ = std::prev(connections_.end());
  if (connections_.size() >= limits_.connections_max) make_room();
  connection.start();
}

// At the limit a connection whose request's head, or TLS handshake, does not come to its end goes
// first, then the one that has been open longest and serves no request, then any other that still
// reads a head: a client that merely holds connections keeps no other out. Accepting pauses until
// it, or another, is gone. The newest stays.
void ProxyServer::make_room() {
  for (const auto& listener : listeners_) listener->pause();
  look_for_room_again();
  if (close_open_head(clock_.now() - limits_.slow_head)) return;
  const auto newest = std::prev(connections_.end());
  for (auto next = connections_.begin(); next != newest; ++next) {
    if ((*next)->close_if_idle()) return;
  }
  static_cast<void>(close_open_head(TimePoint::max()));
}

// An idle connection that is to go may bring a request at that moment, and heads become slow later.
void ProxyServer::look_for_room_again() {
  if (looking_for_room_) return;
  looking_for_room_ = true;
  room_timer_.expires_after(kRoomPause);
  room_timer_.async_wait([this, alive = alive_](const boost::system::error_code& ec) {
    if (!*alive || ec) return;
    looking_for_room_ = false;
    if (connections_.size() >= limits_.connections_max) make_room();
  });
}

// Of the heads and the TLS handshakes that have begun, the one that began first.
Connection* ProxyServer::oldest_unfinished() const {
  Connection* const head = heads_.oldest();
  Connection* const handshake = handshakes_.oldest();
  if (head == nullptr || handshake == nullptr) return head != nullptr ? head : handshake;
  return OpenHeads::since(*head) <= OpenHeads::since(*handshake) ? head : handshake;
}

// One that serves other requests too loses the head alone, and the next one is looked at.
bool ProxyServer::close_open_head(TimePoint begun_by) {
  while (Connection* const oldest = oldest_unfinished()) {
    if (OpenHeads::since(*oldest) > begun_by) return false;
    const bool closes = oldest->give_way();
    heads_.close(*oldest);
    if (closes) return true;
  }
  return false;
}

void ProxyServer::close_after_responses() {
  closing_ = true;
  for (auto next = connections_.begin(); next != connections_.end();) (*next++)->drain();
}

void ProxyServer::close_idle() {
  for (auto next = connections_.begin(); next != connections_.end();) (*next++)->close_if_idle();
}

void ProxyServer::close_tunnels() {
  closing_tunnels_ = true;
  for (auto next = connections_.begin(); next != connections_.end();) (*next++)->close_tunnel();
}

void ProxyServer::stop_accepting() {
  for (const auto& listener : listeners_) listener->close();
}

void ProxyServer::close_all() {
  // One that leaves may end others; those stay in memory until the next turn of the loop.
  std::vector<Connection*> all;
  all.reserve(connections_.size());
  for (const auto& connection : connections_) all.push_back(connection.get());
  for (Connection* connection : all) connection->abandon();
}

void ProxyServer::ended() {
  CHECK(in_flight_ > 0);
  if (--in_flight_ == 0 && quiet_) quiet_();
}

// A connection retires from deep inside its own calls, so it is freed on the next turn of the loop.
void ProxyServer::retire(Connection& connection) {
  heads_.close(connection);
  connections_most_ = std::max(connections_most_, connections_.size());
  retired_.splice(retired_.end(), connections_, connection.place_);
  if (connections_most_ >= connections_.size() + kManyConnections) {
    pages_.freed(kManyConnections * kConnectionBytes);
    connections_most_ = connections_.size();
  }
  if (connections_.size() + 1 == limits_.connections_max) {
    for (const auto& listener : listeners_) listener->resume();
  }
  if (burying_) return;
  burying_ = true;
  boost::asio::post(io_, [this, alive = alive_] {
    if (*alive) bury();
  });
}

void ProxyServer::bury() {
  burying_ = false;
  retired_.clear();
}

}  // namespace sluice::net
