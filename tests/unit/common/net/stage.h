#pragma once

#include "common/net/server/proxy_server.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::net::testing {

/// An upstream that sends a script for each request it has read, one request at a time.
class ScriptedUpstream {
 public:
  enum class After : std::uint8_t { keep, close, reset };

  struct Script {
    std::string bytes;
    After after = After::keep;
  };

  explicit ScriptedUpstream(boost::asio::io_context& io);
  ~ScriptedUpstream();
  ScriptedUpstream(const ScriptedUpstream&) = delete;
  ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

  /// What the requests get, one script after the other; the last one repeats.
  void play(std::vector<Script> scripts);

  [[nodiscard]] const Address& address() const { return address_; }

  /// Everything received, of all connections, in order of arrival.
  [[nodiscard]] const std::string& received() const { return received_; }

  void forget() { received_.clear(); }

  [[nodiscard]] std::size_t connections() const { return sessions_.size(); }

  [[nodiscard]] std::size_t requests() const { return requests_; }

  /// On the latest connection, beside any script.
  void say(std::string_view bytes);
  void finish_sending();
  void hang_up(After how);

  /// Connections whose other end has finished sending, or failed.
  [[nodiscard]] std::size_t ended() const { return ended_; }

  /// Answers at each head and reads no further: uploads stall.
  void stop_reading_after_head() { stalling_ = true; }

 private:
  struct Session;

  void read(Session& session);
  void answer(Session& session);

  boost::asio::io_context& io_;
  Listener listener_;
  Address address_;
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Script> scripts_;
  std::string received_;
  std::size_t requests_ = 0;
  std::size_t ended_ = 0;
  bool stalling_ = false;
};

/// A client's end of a connection, driven without blocking.
class Client {
 public:
  explicit Client(const Address& server);

  ~Client() { close(); }

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Returns how much the kernel took.
  std::size_t send(std::string_view bytes);
  void finish_sending();
  void close();
  void reset();

  /// Takes what is there; returns whether the connection has ended.
  bool take();

  [[nodiscard]] const std::string& seen() const { return seen_; }

  void forget() { seen_.clear(); }

 private:
  int fd_ = -1;
  std::string seen_;
};

/// A gateway that the test scripts and that counts its calls.
class ScriptedGateway final : public Gateway {
 public:
  using Begin = std::function<void(Exchange&)>;

  Begin on_begin;
  std::function<bool(Exchange&)> on_failure;
  std::function<ResponseVerdict(Exchange&, const http::ResponseHead&)> on_response;
  std::function<void(Exchange&)> on_grew;

  std::unique_ptr<ExchangeState> make_state() override { return std::make_unique<ExchangeState>(); }

  void begin(Exchange& exchange) override {
    ++begun;
    on_begin(exchange);
  }

  void grew(Exchange& exchange) override {
    if (on_grew) on_grew(exchange);
  }

  bool upstream_failed(Exchange& exchange, const ConnectFailure& failure) override {
    failures.push_back(failure);
    return on_failure && on_failure(exchange);
  }

  ResponseVerdict response(Exchange& exchange, const http::ResponseHead& head,
                           std::string& /*extra*/) override {
    return on_response ? on_response(exchange, head) : ResponseVerdict::forward;
  }

  void end(Exchange& /*exchange*/, const Outcome& outcome) override {
    ends.push_back(outcome.end);
    last_timer = outcome.timer;
  }

  [[nodiscard]] std::string_view timeout_text() const override { return "request timeout"; }

  [[nodiscard]] std::string_view place() const override { return "test"; }

  int begun = 0;
  std::vector<Outcome::End> ends;
  Timer last_timer = Timer::none;  // that ended one
  std::vector<ConnectFailure> failures;
};

/// The defaults, with less patience.
[[nodiscard]] ServerLimits stage_limits();

/// Gateway, server and one upstream on one loop.
class Stage : public ::testing::Test {
 protected:
  explicit Stage(const ServerLimits& limits = stage_limits());
  ~Stage() override;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Turns the loop until the condition holds; a failure when it never does.
  void until(const std::function<bool()>& condition);

  /// Turns the loop as long as something is ready.
  void settle();

  /// Until nothing is in flight; every begin has had its end then.
  void expect_quiet();

  void until_seen(Client& client, const std::string& text);
  void until_closed(Client& client);

  void forward(Exchange& exchange) { exchange.forward(pool_, {}); }

  boost::asio::io_context io_{1};
  Clock clock_;
  ScriptedGateway gateway_;
  ScriptedUpstream upstream_{io_};
  UpstreamPool pool_;
  ProxyServer server_;
  Address address_;
};

}  // namespace sluice::net::testing
