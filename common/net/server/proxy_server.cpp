#include "common/net/server/proxy_server.h"

#include "common/net/h1/h1_exchange.h"
#include "common/net/h2/h2_connection.h"
#include "common/net/tls/tls_handshake.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

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
      own_count_{limits.connections_max},
      count_{limits.shared != nullptr ? *limits.shared : own_count_},
      hangups_{io, [](void* key) { static_cast<H1Exchange*>(key)->on_hangup(); }},
      heads_{limits.open_heads_bytes_max},
      pages_{io},
      room_timer_{io} {
  count_.servers_.push_back(this);
}

ProxyServer::~ProxyServer() {
  alive_.end();
  count_.open_ -= connections_.size();
  std::erase(count_.servers_, this);
  std::erase(count_.paused_, this);
}

std::unique_ptr<Listener> ProxyServer::listener_for(TlsSessions* sessions) {
  if (sessions == nullptr) {
    return std::make_unique<Listener>(io_, [this](Socket socket) { accepted(std::move(socket)); });
  }
  return std::make_unique<Listener>(io_, [this, sessions](Socket socket) {
    prepare(socket);
    add(std::make_unique<TlsHandshake>(*this, *sessions, std::move(socket)));
  });
}

Result<Address, Problem> ProxyServer::keep(std::unique_ptr<Listener> listener,
                                           Result<Address, Problem> bound) {
  if (bound) listeners_.push_back(std::move(listener));
  return bound;
}

Result<Address, Problem> ProxyServer::listen(const Address& address, TlsSessions* sessions) {
  auto listener = listener_for(sessions);
  auto bound = listener->open(address);
  return keep(std::move(listener), std::move(bound));
}

Result<Address, Problem> ProxyServer::adopt(int descriptor, TlsSessions* sessions) {
  auto listener = listener_for(sessions);
  auto bound = listener->adopt(descriptor);
  return keep(std::move(listener), std::move(bound));
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
  ++count_.open_;
  if (count_.full()) make_room();
  connection.start();
}

// At the limit a connection whose request's head, or TLS handshake, does not come to its end goes
// first, then the one that has been open longest and serves no request, then any other that still
// reads a head: a client that merely holds connections keeps no other out. Of servers that share
// the limit the one with the most gives first. Accepting pauses until it, or another, is gone. The
// newest stays.
void ProxyServer::make_room() {
  pause();
  look_for_room_again();
  ProxyServer& largest = **std::max_element(count_.servers_.begin(), count_.servers_.end(),
                                            [](const ProxyServer* a, const ProxyServer* b) {
                                              return a->connections() < b->connections();
                                            });
  const auto any = [&](const auto& closes) {
    return closes(largest) || std::any_of(count_.servers_.begin(), count_.servers_.end(),
                                          [&](ProxyServer* each) { return closes(*each); });
  };
  const TimePoint slow = clock_.now() - limits_.slow_head;
  if (any([slow](ProxyServer& each) { return each.close_open_head(slow); })) return;
  if (any([](ProxyServer& each) { return each.close_idle_one(); })) return;
  static_cast<void>(any([](ProxyServer& each) { return each.close_open_head(TimePoint::max()); }));
}

bool ProxyServer::close_idle_one() {
  if (connections_.empty()) return false;
  const auto newest = std::prev(connections_.end());
  return std::any_of(connections_.begin(), newest,
                     [](const auto& connection) { return connection->close_if_idle(); });
}

void ProxyServer::pause() {
  for (const auto& listener : listeners_) listener->pause();
  std::vector<ProxyServer*>& paused = count_.paused_;
  if (std::find(paused.begin(), paused.end(), this) == paused.end()) paused.push_back(this);
}

void ProxyServer::resume() {
  for (const auto& listener : listeners_) listener->resume();
}

// An idle connection that is to go may bring a request at that moment, and heads become slow later.
void ProxyServer::look_for_room_again() {
  if (looking_for_room_) return;
  looking_for_room_ = true;
  room_timer_.expires_after(kRoomPause);
  room_timer_.async_wait([this, alive = alive_.watch()](const boost::system::error_code& ec) {
    if (alive.over() || ec) return;
    looking_for_room_ = false;
    if (count_.full()) make_room();
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
  --count_.open_;
  if (!count_.full()) {
    for (ProxyServer* const server : std::exchange(count_.paused_, {})) server->resume();
  }
  if (burying_) return;
  burying_ = true;
  boost::asio::post(io_, [this, alive = alive_.watch()] {
    if (!alive.over()) bury();
  });
}

void ProxyServer::bury() {
  burying_ = false;
  retired_.clear();
}

}  // namespace sluice::net
