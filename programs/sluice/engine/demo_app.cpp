#include "programs/sluice/engine/demo_app.h"

#include "common/net/server/proxy_server.h"
#include "common/values/whole_number.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace sluice::local {
namespace {

constexpr long kMillisecondsMax = 60'000;
constexpr long kMegabytesMax = 1024;
constexpr auto kHoldTime = std::chrono::seconds{1};

long number_in_query(std::string_view target, std::string_view key, long most) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return 0;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    if (pair.starts_with(key) && pair.size() > key.size() && pair[key.size()] == '=') {
      const auto value = whole_number<long>(pair.substr(key.size() + 1));
      return std::clamp(value.value_or(0), 0L, most);
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return 0;
}

class DemoGateway final : public net::Gateway {
 public:
  DemoGateway(boost::asio::io_context& io, const Clock& clock) : io_{io}, clock_{clock} {}

  struct State final : net::ExchangeState {
    std::unique_ptr<boost::asio::steady_timer> timer;
    std::vector<char> memory;
    std::uint64_t turn = 0;
  };

  std::unique_ptr<net::ExchangeState> make_state() override { return std::make_unique<State>(); }

  void begin(net::Exchange& exchange) override {
    const http::RequestHead& head = exchange.request();
    const std::string_view path = head.path();
    auto& state = static_cast<State&>(exchange.state());
    if (path == "/sleep") {
      answer_after(exchange,
                   std::chrono::milliseconds{number_in_query(head.target, "ms", kMillisecondsMax)});
    } else if (path == "/burn") {
      burn(std::chrono::milliseconds{number_in_query(head.target, "ms", kMillisecondsMax)});
      exchange.respond(http::plain_response(200, "burnt\n"));
    } else if (path == "/hold") {
      const long megabytes = number_in_query(head.target, "mb", kMegabytesMax);
      state.memory.assign(static_cast<std::size_t>(megabytes) << 20U, 'x');
      answer_after(exchange, kHoldTime);
    } else {
      exchange.respond(http::plain_response(200, "hello from sluice\n"));
    }
  }

  bool upstream_failed(net::Exchange&, const net::ConnectFailure&) override { return false; }

  net::ResponseVerdict response(net::Exchange&, const http::ResponseHead&, std::string&) override {
    return net::ResponseVerdict::forward;
  }

  void end(net::Exchange& exchange, const net::Outcome&) override {
    auto& state = static_cast<State&>(exchange.state());
    ++state.turn;
    state.timer.reset();
    state.memory = {};
  }

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }

  [[nodiscard]] std::string_view place() const override { return "demo"; }

 private:
  void answer_after(net::Exchange& exchange, Duration wait) {
    auto& state = static_cast<State&>(exchange.state());
    exchange.hold();
    state.timer = std::make_unique<boost::asio::steady_timer>(io_);
    state.timer->expires_after(wait);
    // A wait that has just ended may find that its request has, too.
    state.timer->async_wait(
        [&exchange, &state, turn = state.turn](const boost::system::error_code& ec) {
          if (!ec && state.turn == turn) exchange.respond(http::plain_response(200, "done\n"));
        });
  }

  void burn(Duration wanted) const {
    const TimePoint end = clock_.now() + wanted;
    while (clock_.now() < end) {
    }
  }

  boost::asio::io_context& io_;
  const Clock& clock_;
};

}  // namespace

int run_demo_app() {
  const char* port = std::getenv("PORT");
  if (port == nullptr) {
    std::fprintf(stderr, "demo: PORT is not set\n");
    return 78;
  }
  const auto address = net::parse_address(std::string{"127.0.0.1:"} + port);
  if (!address) {
    std::fprintf(stderr, "demo: %s\n", address.error().text().c_str());
    return 78;
  }
  boost::asio::io_context io{1};
  const Clock clock;
  DemoGateway gateway{io, clock};
  net::ProxyServer server{io, clock, gateway, {}};
  if (const auto bound = server.listen(*address); !bound) {
    std::fprintf(stderr, "demo: %s\n", bound.error().text().c_str());
    return 1;
  }
  boost::asio::signal_set signals{io, SIGINT, SIGTERM};
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  io.run();
  return 0;
}

}  // namespace sluice::local
