#include "bench/compare/held/app.h"

#include "common/net/server/proxy_server.h"

#include <boost/asio/steady_timer.hpp>

#include <charconv>

namespace sluice::held {
namespace {

struct Running final : net::ExchangeState {
  explicit Running(boost::asio::io_context& io) : timer{io} {}

  boost::asio::steady_timer timer;
  bool counted = false;
};

std::uint64_t number_of(std::string_view target) {
  const std::size_t at = target.find("?id=");
  std::uint64_t number = 0;
  if (at != std::string_view::npos) {
    std::from_chars(target.data() + at + 4, target.data() + target.size(), number);
  }
  return number;
}

}  // namespace

struct Apps::App final : net::Gateway {
  explicit App(Apps& all) : apps{all}, server{all.io_, all.clock_, *this, limits()} {}

  static net::ServerLimits limits() { return {}; }

  std::unique_ptr<net::ExchangeState> make_state() override {
    return std::make_unique<Running>(apps.io_);
  }

  void begin(net::Exchange& exchange) override {
    auto& state = static_cast<Running&>(exchange.state());
    state.counted = exchange.request().target != "/ready";
    if (!state.counted) {
      if (apps.open_ && apps.ready_ns_ == 0) apps.ready_ns_ = now_ns();
      exchange.respond(http::plain_response(apps.open_ ? 200 : 503, "\n"));
      return;
    }
    if (apps.first_ns_ == 0) apps.first_ns_ = now_ns();
    apps.order_.push_back(number_of(exchange.request().target));
    most = std::max(most, ++running);
    if (apps.delay_.count() == 0) {
      exchange.respond(http::plain_response(200, "ok\n"));
      return;
    }
    exchange.hold();
    state.timer.expires_after(apps.delay_);
    state.timer.async_wait([&exchange](const boost::system::error_code& ec) {
      if (!ec) exchange.respond(http::plain_response(200, "ok\n"));
    });
  }

  bool upstream_failed(net::Exchange&, const net::ConnectFailure&) override { return false; }

  net::ResponseVerdict response(net::Exchange&, const http::ResponseHead&, std::string&) override {
    return net::ResponseVerdict::forward;
  }

  void end(net::Exchange& exchange, const net::Outcome&) override {
    auto& state = static_cast<Running&>(exchange.state());
    state.timer.cancel();
    if (state.counted) --running;
  }

  [[nodiscard]] std::string_view timeout_text() const override { return "timeout"; }

  [[nodiscard]] std::string_view place() const override { return "app"; }

  Apps& apps;
  int running = 0;
  int most = 0;
  net::ProxyServer server;
};

Apps::Apps(boost::asio::io_context& io) : io_{io} {}

Apps::~Apps() = default;

Result<net::Address, Problem> Apps::add() {
  apps_.push_back(std::make_unique<App>(*this));
  net::Address loopback;
  loopback.host = "127.0.0.1";
  return apps_.back()->server.listen(loopback);
}

std::string Apps::report(std::uint64_t step) {
  std::uint64_t newest = 0;
  std::uint64_t late = 0;
  for (const std::uint64_t number : order_) {
    if (number / step < newest / step) ++late;
    newest = std::max(newest, number);
  }
  std::string text = "{\"ready_ns\":" + std::to_string(ready_ns_) +
                     ",\"first_ns\":" + std::to_string(first_ns_) +
                     ",\"requests\":" + std::to_string(order_.size()) +
                     ",\"late\":" + std::to_string(late) + ",\"most\":[";
  for (const auto& app : apps_) {
    if (!text.ends_with('[')) text += ",";
    text += std::to_string(app->most);
    app->most = app->running;
  }
  order_.clear();
  ready_ns_ = first_ns_ = 0;
  return text + "]}";
}

}  // namespace sluice::held
