#include "bench/compare/held/h1_clients.h"

#include "common/net/h1/h1_codec.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <array>

namespace sluice::held {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kDialsAtOnce = 128;
constexpr std::size_t kHeadBytesMax = 16 * 1024;

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

struct H1Clients::Client {
  explicit Client(asio::io_context& io) : socket{io} {}

  net::Socket socket;
  http::ResponseParser parser{kHeadBytesMax};
  http::ResponseHead head;
  std::string out;
  std::string body;
  std::string seen;  // of an answer that came in parts
  std::array<char, 1024> buffer{};
  bool busy = false;
  bool head_done = false;
};

H1Clients::H1Clients(asio::io_context& io, const net::Address& server, std::string host,
                     Tally& tally)
    : io_{io}, server_{net::endpoint_of(server)}, host_{std::move(host)}, tally_{tally} {}

H1Clients::~H1Clients() = default;

void H1Clients::send(std::size_t count, std::uint64_t first, Sent sent) {
  next_ = first;
  to_send_ = count;
  sent_ = std::move(sent);
  for (const auto& client : clients_) {
    if (to_send_ > 0 && !client->busy && client->socket.is_open()) ask_next(*client);
  }
  for (std::size_t i = 0; i < to_send_; ++i) clients_.push_back(std::make_unique<Client>(io_));
  if (to_send_ > 0) dial_next();
}

void H1Clients::dial_next() {
  while (dialled_ < clients_.size() && dialling_ < kDialsAtOnce) dial(*clients_[dialled_++]);
}

void H1Clients::dial(Client& client) {
  ++dialling_;
  client.socket.async_connect(server_, [this, &client](const error_code& ec) {
    --dialling_;
    if (ec) {
      tally_.sent();
      --to_send_;
      fail(client);
    } else {
      net::prepare(client.socket);
      ask_next(client);
    }
    dial_next();
  });
}

// The next request passed to `send`.
void H1Clients::ask_next(Client& client) {
  --to_send_;
  tally_.sent();
  ask(client);
  if (to_send_ == 0 && sent_) sent_();
}

void H1Clients::ask(Client& client) {
  client.busy = true;
  client.head_done = false;
  client.body.clear();
  client.parser.reset(false);
  client.out = "GET /?id=" + std::to_string(next_++) + " HTTP/1.1\r\nHost: " + host_ +
               "\r\nUser-Agent: sluice-bench\r\nAccept: */*\r\n\r\n";
  bool would_block = false;
  if (net::write_now(client.socket, client.out, {}, would_block) < 0 || would_block) {
    fail(client);
    return;
  }
  read(client);
}

void H1Clients::read(Client& client) {
  client.socket.async_read_some(asio::buffer(client.buffer),
                                [this, &client](const error_code& ec, std::size_t bytes) {
                                  if (ec) {
                                    fail(client);
                                    return;
                                  }
                                  client.seen.append(client.buffer.data(), bytes);
                                  take(client);
                                });
}

void H1Clients::take(Client& client) {
  if (!client.head_done) {
    const http::Fed fed = client.parser.feed_head(client.seen, client.head);
    client.seen.erase(0, fed.used);
    client.head_done = fed.state == http::Fed::State::done;
    if (!client.head_done && fed.state != http::Fed::State::need_more) {
      fail(client);
      return;
    }
  }
  if (client.head_done && !client.parser.done() && !client.seen.empty()) {
    client.seen.erase(0, client.parser.feed_body(client.seen, &client.body).used);
  }
  if (!client.head_done || !client.parser.done()) {
    read(client);
    return;
  }
  client.busy = false;
  ++answers_;
  if (client.head.status != 200) tally_.failed(client.body);
  const bool again = looping_;
  if (again) tally_.sent();
  tally_.answered(client.head.status);
  if (again) ask(client);
}

void H1Clients::fail(Client& client) {
  error_code ignored;
  client.socket.close(ignored);
  client.busy = false;
  tally_.answered(0);
}

void H1Clients::loop() {
  looping_ = true;
  for (const auto& client : clients_) {
    if (client->busy || !client->socket.is_open()) continue;
    tally_.sent();
    ask(*client);
  }
}

}  // namespace sluice::held
