#include "common/net/proxy_server.h"

#include <boost/asio/post.hpp>

namespace sluice::net {

ProxyServer::ProxyServer(boost::asio::io_context& io, const Clock& clock, Gateway& gateway,
                         const ServerLimits& limits)
    : io_{io}, clock_{clock}, gateway_{gateway}, limits_{limits}, hangups_{io, [](void* key) {
                                                                             static_cast<Exchange*>(
                                                                                 key)
                                                                                 ->on_hangup();
                                                                           }} {}

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

void ProxyServer::accepted(Socket socket) {
  exchanges_.push_back(std::make_unique<Exchange>(*this, std::move(socket)));
  Exchange& exchange = *exchanges_.back();
  exchange.place_ = std::prev(exchanges_.end());
  if (exchanges_.size() >= limits_.connections_max) {
    for (const auto& listener : listeners_) listener->pause();
  }
  exchange.start();
}

void ProxyServer::close_idle() {
  for (auto next = exchanges_.begin(); next != exchanges_.end();) {
    Exchange& exchange = **next++;
    if (exchange.phase_ == Exchange::Phase::head && exchange.in_.empty()) exchange.close();
  }
}

void ProxyServer::stop_accepting() {
  for (const auto& listener : listeners_) listener->close();
}

void ProxyServer::close_all() {
  // One that leaves may end others; those stay in memory until the next turn of the loop.
  std::vector<Exchange*> all;
  all.reserve(exchanges_.size());
  for (const auto& exchange : exchanges_) all.push_back(exchange.get());
  for (Exchange* exchange : all) exchange->leave();
}

void ProxyServer::ended() {
  CHECK(in_flight_ > 0);
  if (--in_flight_ == 0 && quiet_) quiet_();
}

// An exchange retires from deep inside its own calls, so it is freed on the next turn of the loop.
void ProxyServer::retire(Exchange& exchange) {
  retired_.splice(retired_.end(), exchanges_, exchange.place_);
  if (exchanges_.size() + 1 == limits_.connections_max) {
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
