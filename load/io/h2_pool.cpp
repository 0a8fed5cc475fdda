#include "load/io/h2_pool.h"

#include "common/base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::loadgen {

H2Pool::H2Pool(boost::asio::io_context& io, const Peer& peer, const H2Limits& limits, Owner& owner)
    : io_{io}, peer_{peer}, limits_{limits}, owner_{owner} {}

H2Client* H2Pool::roomy() {
  if (hint_ != nullptr && hint_->has_room()) return hint_;
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [](const auto& client) { return client->has_room(); });
  hint_ = found == clients_.end() ? nullptr : found->get();
  return hint_;
}

bool H2Pool::has_room() {
  return roomy() != nullptr;
}

std::size_t H2Pool::size() const {
  return static_cast<std::size_t>(std::count_if(
      clients_.begin(), clients_.end(), [](const auto& client) { return client->is_usable(); }));
}

// From the loop alone: a client is never gone while it calls.
void H2Pool::remove_gone() {
  hint_ = nullptr;
  std::erase_if(clients_, [](const auto& client) { return client->is_gone(); });
}

H2Client& H2Pool::open() {
  remove_gone();
  hint_ = clients_.emplace_back(std::make_unique<H2Client>(io_, *this)).get();
  return *hint_;
}

void H2Pool::submit(H2Exchange& exchange, const Request& request) {
  H2Client* client = roomy();
  if (client == nullptr && size() >= limits_.connections) {
    for (const auto& other : clients_) {
      if (!other->is_usable()) continue;
      if (client == nullptr || other->streams() < client->streams()) client = other.get();
    }
  }
  if (client == nullptr) {
    client = &open();
    client->dial();
  }
  client->submit(exchange, request);
}

void H2Pool::adopt(net::Stream stream) {
  open().adopt_stream(std::move(stream));
}

void H2Pool::close() {
  for (const auto& client : clients_) client->close();
}

bool H2Pool::is_quiet() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->is_gone(); });
}

}  // namespace sluice::loadgen
