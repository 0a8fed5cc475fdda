#include "common/base/check.h"
#include "common/net/server/proxy_server.h"
#include "common/net/upstream/upstream_pool.h"
#include "common/time/clock.h"
#include "tests/fuzz/h1_message.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/write.hpp>

#include <list>
#include <memory>
#include <unistd.h>

// Goal: no bytes from an HTTP/2 client, or from a container that should speak HTTP/2, crash a
// session, keep it busy without end, or leave a request that began without its end. Method: the
// real server on a Unix socket, one connection per input. An input that begins with `c` is what the
// container sends, while the client sends one request; any other is what the client sends behind
// its preface, while the container answers as well as it can.
namespace sluice::fuzz {
namespace {

using boost::system::error_code;

constexpr std::string_view kPreface{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"};
constexpr std::string_view kSettings{"\0\0\0\4\0\0\0\0\0", 9};
// GET http://a/ on stream 1, from the static table; the authority is a literal.
constexpr std::string_view kRequest{"\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1a", 15};
// What a container says to stream 1: settings, :status 200, data, the end.
constexpr std::string_view kAnswer{"\0\0\0\4\0\0\0\0\0\0\0\1\1\4\0\0\0\1\x88\0\0\2\0\1\0\0\0\1ok",
                                   30};
constexpr int kTurnsMax = 10'000;

/// Answers by path: `/own` at once, `/hold` never, everything else from the container.
class Doorman final : public net::Gateway {
 public:
  Doorman(boost::asio::io_context& io, const net::Address& container) : pool_{io, container, {}} {}

  std::unique_ptr<net::ExchangeState> make_state() override {
    return std::make_unique<net::ExchangeState>();
  }

  void begin(net::Exchange& exchange) override {
    ++open;
    const std::string_view path = exchange.request().path();
    if (path == "/hold") {
      exchange.hold();
    } else if (path == "/own" || exchange.request().method == "CONNECT") {
      exchange.respond(http::plain_response(200, "ok"));
    } else {
      exchange.forward(pool_, {});
    }
  }

  bool upstream_failed(net::Exchange& /*exchange*/, const net::ConnectFailure& /*why*/) override {
    return false;
  }

  net::ResponseVerdict response(net::Exchange& /*exchange*/, const http::ResponseHead& /*head*/,
                                std::string& /*extra*/) override {
    return net::ResponseVerdict::forward;
  }

  void end(net::Exchange& /*exchange*/, const net::Outcome& /*outcome*/) override { --open; }

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }

  [[nodiscard]] std::string_view place() const override { return "fuzz"; }

  int open = 0;

 private:
  net::UpstreamPool pool_;
};

/// Sends the same to every client, and reads nothing.
class Container {
 public:
  Container(boost::asio::io_context& io, const net::Address& address, std::string_view words)
      : words_{words}, listener_{io, [this](net::Socket socket) { greet(std::move(socket)); }} {
    CHECK(listener_.open(address).has_value());
  }

  void close() {
    error_code ignored;
    for (net::Socket& socket : sockets_) socket.close(ignored);
    listener_.close();
  }

 private:
  void greet(net::Socket socket) {
    sockets_.push_back(std::move(socket));
    error_code ignored;
    sockets_.back().non_blocking(true, ignored);
    boost::asio::write(sockets_.back(), boost::asio::buffer(words_), ignored);
  }

  std::string_view words_;  // outlives the container: the fuzzer's input
  std::list<net::Socket> sockets_;
  net::Listener listener_;
};

net::Address unix_address(const char* name) {
  net::Address address;
  address.path = "/tmp/sluice-fuzz-" + std::to_string(::getpid()) + "-" + name;
  return address;
}

/// Turns the loop until nothing more happens by itself.
void settle(boost::asio::io_context& io) {
  for (int turn = 0, quiet = 0; quiet < 2; ++turn) {
    CHECK(turn < kTurnsMax);
    io.restart();
    quiet = io.poll() == 0 ? quiet + 1 : 0;
  }
}

void play(std::string_view client_words, std::string_view container_words) {
  boost::asio::io_context io{1};
  const Clock clock;
  const net::Address address = unix_address("server");
  const net::Address container_address = unix_address("container");
  Container container{io, container_address, container_words};
  Doorman doorman{io, container_address};
  net::ServerLimits limits;
  limits.head_bytes_max = 8192;
  net::ProxyServer server{io, clock, doorman, limits};
  CHECK(server.listen(address).has_value());
  net::Socket client{io};
  error_code ec;
  client.connect(net::endpoint_of(address), ec);
  CHECK(!ec);
  client.non_blocking(true, ec);
  std::string said{kPreface};
  said.append(kSettings).append(client_words);
  boost::asio::write(client, boost::asio::buffer(said), ec);  // what fits: inputs are small
  settle(io);
  client.close(ec);
  settle(io);
  CHECK(server.connections() == 0);
  CHECK(doorman.open == 0);
  server.stop_accepting();
  container.close();
  settle(io);
}

}  // namespace

/// Plays an input in the part that it chooses.
static void play_session(std::string_view bytes) {
  if (bytes.starts_with('c')) {
    play(kRequest, bytes.substr(1));
  } else {
    play(bytes, kAnswer);
  }
}

}  // namespace sluice::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sluice::fuzz::play_session(sluice::fuzz::text_of(data, size));
  return 0;
}
