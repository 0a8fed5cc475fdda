#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "load/core/generator_watch.h"
#include "load/io/destination.h"
#include "load/io/h2_pool.h"
#include "load/io/load_run.h"
#include "load/io/ws_sessions.h"
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sluice::loadgen {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// The inside of a LoadRun: load_run.cpp takes requests up and ends them, load_run_connections.cpp
/// finds what carries them.
struct LoadRun::Impl final : Exchange::Owner, H2Pool::Owner, WsSessions::Owner {
  Impl(asio::io_context& io, const Clock& time, const LoadPlan& what,
       const std::vector<std::string>& addresses, std::vector<CellReader> cells,
       const net::ClientTls* tls, Share which)
      : loop{io},
        clock{time},
        plan{what},
        share{which},
        pacer{plan, std::move(cells), which},
        results{plan},
        left{what.count.value_or(std::numeric_limits<std::uint64_t>::max())} {
    destinations.reserve(plan.targets.size());
    for (std::size_t i = 0; i < plan.targets.size(); ++i) {
      const TargetPlan& target = plan.targets[i];
      destinations.emplace_back(target, pool_of(peer_of(target.target, addresses.at(i), tls)),
                                plan);
    }
  }

  std::size_t pool_of(Peer peer) {
    const auto found = std::find_if(pools.begin(), pools.end(),
                                    [&peer](const Pool& pool) { return pool.peer == peer; });
    const auto place = static_cast<std::size_t>(found - pools.begin());
    if (found != pools.end()) return place;
    Pool& made_now = pools.emplace_back();
    made_now.peer = std::move(peer);
    if (made_now.peer.protocol == Protocol::h2 || made_now.peer.protocol == Protocol::grpc) {
      use_h2(made_now);
    }
    return place;
  }

  void use_h2(Pool& pool) {
    const bool one = plan.loop == Loop::closed && !plan.streams;
    const H2Limits limits{plan.connections, one ? std::optional<std::size_t>{1} : plan.streams,
                          plan.reuse};
    pool.h2 = std::make_unique<H2Pool>(loop, pool.peer, limits, *this);
  }

  [[nodiscard]] Duration now() const { return clock.now() - began; }

  // Runs `step` at offset `at`, unless the timer is set again before.
  template <class Step>
  void at(asio::steady_timer& timer, Duration when, Step step) {
    timer.expires_after(std::max(when - now(), Duration::zero()));
    ++pending;
    timer.async_wait([this, step](ErrorCode error) {
      --pending;
      if (!error && !ended_all) step();
    });
  }

  void begin();
  void watch_generator();
  void pump();
  void arm_arrival();
  bool may_open();
  [[nodiscard]] std::size_t in_use() const;
  [[nodiscard]] std::size_t h2_connections() const;
  Exchange* idle_elsewhere();
  Exchange& free_exchange(std::size_t pool);
  Exchange& free_stream(H2Pool& pool);
  void start_session(const PlannedRequest& planned);
  [[nodiscard]] Duration last_instant() const;
  Request request_of(Exchange& exchange);
  PlannedRequest at_once();
  static void move_to(Exchanges& to, Exchanges::iterator where, Exchange& connection);
  void dispatch(Exchange& connection, const PlannedRequest& planned);
  void again(Exchange& connection, Ending ending);
  void resume();
  void watch_timeouts();
  void expire(Duration before);
  Duration record(Exchange& connection, Ending ending);
  void sending_ends();
  void give_up();
  void cut();
  void finish_if_over();
  void wait_until_quiet();
  [[nodiscard]] bool over() const;

  void ended(Exchange& connection, Ending ending) override;
  void dropped(Exchange& connection) override;

  void connected(Exchange& connection) override {
    results.connected(connection.planned, now() - connection.taken);
    most_h2 = std::max(most_h2, h2_connections());
  }

  void chose_h2(Exchange& connection, net::Stream stream) override;

  void ws_sent(const PlannedRequest& message, Duration taken) override {
    results.sent(message, std::max(taken, message.at));
  }

  void ws_ended(const PlannedRequest& message, Duration taken, Ending ending,
                std::uint64_t bytes) override {
    results.finished(message, {message.at, taken, now(), ending, 0, false, bytes});
  }

  void ws_unsent(const PlannedRequest& message) override { results.unsent(message); }

  void ws_connected(const PlannedRequest& first, Duration taken) override {
    results.connected(first, taken);
    most_ws = std::max(most_ws, sessions.size());
  }

  void ws_failed(const std::string& text) override { failed(text); }

  void ws_over() override {
    if (pacer.due(now())) pump();
    finish_if_over();
  }

  [[nodiscard]] Duration ws_now() const override { return now(); }

  void h2_changed() override {
    if (plan.loop == Loop::open && pacer.due(now())) pump();
  }

  void failed(const std::string& text) override { samples.add(now(), text); }

  asio::io_context& loop;
  const Clock& clock;
  const LoadPlan plan;
  const Share share;
  Pacer pacer;
  Results results;
  std::uint64_t left;                     // closed loop: requests still to be sent
  std::vector<Destination> destinations;  // by target
  std::deque<Pool> pools;
  std::function<void()> done;
  TimePoint began;

  Exchanges busy;           // oldest request first, which is the next to time out
  Exchanges spare;          // closed
  Exchanges streams;        // HTTP/2: with nothing to do
  Exchanges paused;         // closed loop: waiting out kRetryPause
  std::size_t made = 0;     // connections of HTTP/1, open or not
  std::size_t most_h2 = 0;  // connections of HTTP/2
  std::size_t most_ws = 0;  // sessions of WebSocket
  WsSessions sessions{loop, *this};

  asio::steady_timer arrival{loop};
  asio::steady_timer expiry{loop};
  asio::steady_timer end{loop};
  asio::steady_timer pause{loop};
  asio::steady_timer tick{loop};
  Duration open_from{0};  // when the next connection might open, were there no first lot
  bool expiry_armed = false;
  bool pause_armed = false;
  bool pump_posted = false;
  bool sending_over = false;
  bool given_up = false;
  bool interrupted = false;
  bool ended_all = false;
  unsigned pending = 0;
  std::uint64_t taken_up = 0;  // closed loop: requests so far
  std::uint64_t cap_waits = 0;
  ErrorSamples samples;
  GeneratorWatch generator;
};

}  // namespace sluice::loadgen
