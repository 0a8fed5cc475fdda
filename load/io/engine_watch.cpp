#include "load/io/engine_watch.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "load/io/engine_events.h"
#include "load/io/wire_response.h"
#include <algorithm>
#include <array>
#include <utility>

namespace sluice::loadgen {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

constexpr std::size_t kServicesBytesMax = 4U << 20U;

}  // namespace

struct EngineWatch::Impl {
  enum class Stage { services, events, over };

  Impl(asio::io_context& io, const Clock& time, Target where, const std::string& address,
       Duration wait)
      : loop{io},
        clock{time},
        target{std::move(where)},
        peer{asio::ip::make_address(address), target.port},
        patience{wait},
        events{[this](std::string_view event, std::string_view data) { take(event, data); }} {}

  void ask(Stage next, const std::string& path);
  void write();
  void read();
  void on_bytes(std::size_t bytes);
  void services_answered();
  void give_up();
  void tell_ready();
  void take(std::string_view event, std::string_view data);
  void wait_until_quiet();

  asio::io_context& loop;
  const Clock& clock;
  const Target target;
  const tcp::endpoint peer;
  const Duration patience;
  tcp::socket socket{loop};
  asio::steady_timer alarm{loop};
  WireResponse response;
  EventLines events;
  ReplicaTrack track;
  std::function<void()> ready;
  std::function<void()> changed;
  std::function<void()> closed;
  Stage stage = Stage::services;
  std::string request;
  std::string services;
  std::array<char, 16384> buffer{};
  std::size_t filled = 0;
  TimePoint run_began;
  bool begun = false;
  unsigned pending = 0;
  std::uint64_t epoch = 0;  // counts sockets: completions of an earlier one are ignored
};

void EngineWatch::Impl::ask(Stage next, const std::string& path) {
  stage = next;
  ++epoch;
  ErrorCode ignored;
  socket.close(ignored);
  filled = 0;
  response.begin(false);
  response.set_body_sink([this](std::string_view body) {
    if (stage == Stage::events) {
      events.feed(body);
    } else if (services.size() + body.size() <= kServicesBytesMax) {
      services.append(body);
    }
  });
  const std::string port = std::to_string(target.port);
  request = "GET /_sluice/api/v1" + path + " HTTP/1.1\r\nHost: localhost:" + port +
            "\r\nUser-Agent: sluice-load\r\nConnection: close\r\n\r\n";
  ++pending;
  socket.async_connect(peer, [this, mine = epoch](ErrorCode error) {
    --pending;
    if (mine != epoch) return;
    if (error) {
      give_up();
    } else {
      write();
    }
  });
}

void EngineWatch::Impl::write() {
  ++pending;
  asio::async_write(socket, asio::buffer(request),
                    [this, mine = epoch](ErrorCode error, std::size_t) {
                      --pending;
                      if (mine != epoch) return;
                      if (error) {
                        give_up();
                      } else {
                        read();
                      }
                    });
}

void EngineWatch::Impl::read() {
  ++pending;
  socket.async_read_some(
      asio::buffer(buffer.data() + filled, buffer.size() - filled),
      [this, mine = epoch](ErrorCode error, std::size_t bytes) {
        --pending;
        if (mine != epoch) return;
        if (!error) {
          on_bytes(bytes);
        } else if (stage == Stage::services && response.finish() == WireResponse::State::whole) {
          services_answered();
        } else {
          give_up();
        }
      });
}

void EngineWatch::Impl::on_bytes(std::size_t bytes) {
  filled += bytes;
  const WireResponse::Fed fed = response.feed({buffer.data(), filled});
  if (stage == Stage::over) return;  // stopped by the callback
  std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(fed.consumed),
            buffer.begin() + static_cast<std::ptrdiff_t>(filled), buffer.begin());
  filled -= fed.consumed;
  const bool useless = response.has_headers() && response.status() != 200;
  if (fed.state == WireResponse::State::invalid || useless || filled == buffer.size()) {
    give_up();
  } else if (fed.state == WireResponse::State::whole) {
    if (stage == Stage::services) {
      services_answered();
    } else {
      give_up();
    }
  } else {
    if (stage == Stage::events && response.has_headers()) tell_ready();
    read();
  }
}

void EngineWatch::Impl::services_answered() {
  if (response.status() == 200 && join_service(services, target, track)) {
    ask(Stage::events, "/events?types=decision,replica,cold_start");
  } else {
    give_up();
  }
}

void EngineWatch::Impl::give_up() {
  stage = Stage::over;
  ++epoch;
  ErrorCode ignored;
  socket.close(ignored);
  tell_ready();
}

void EngineWatch::Impl::tell_ready() {
  if (!ready) return;
  alarm.cancel();
  // Without a stream the figures would be one moment's: better none.
  if (stage != Stage::events) track = ReplicaTrack{};
  asio::post(loop, std::exchange(ready, nullptr));
}

void EngineWatch::Impl::take(std::string_view event, std::string_view data) {
  const Duration at = begun ? clock.now() - run_began : Duration::zero();
  if (apply_event(event, data, at, track) && changed) changed();
}

void EngineWatch::Impl::wait_until_quiet() {
  if (pending == 0) {
    asio::post(loop, std::exchange(closed, nullptr));
  } else {
    asio::post(loop, [this] { wait_until_quiet(); });
  }
}

EngineWatch::EngineWatch(asio::io_context& loop, const Clock& clock, Target target,
                         const std::string& address, Duration patience)
    : impl_{std::make_unique<Impl>(loop, clock, std::move(target), address, patience)} {}

EngineWatch::~EngineWatch() = default;

void EngineWatch::start(std::function<void()> ready) {
  Impl& watch = *impl_;
  watch.ready = std::move(ready);
  watch.alarm.expires_after(watch.patience);
  ++watch.pending;
  watch.alarm.async_wait([&watch](ErrorCode error) {
    --watch.pending;
    if (!error && watch.ready) watch.give_up();
  });
  watch.ask(Impl::Stage::services, "/services?limit=1000");
}

void EngineWatch::begin(TimePoint run_began) {
  impl_->run_began = run_began;
  impl_->begun = true;
  if (impl_->track.joined()) impl_->track.begin();
}

void EngineWatch::on_change(std::function<void()> changed) {
  impl_->changed = std::move(changed);
}

void EngineWatch::stop(std::function<void()> closed) {
  Impl& watch = *impl_;
  watch.alarm.cancel();
  watch.ready = nullptr;
  watch.closed = std::move(closed);
  watch.give_up();
  watch.track.finish(watch.clock.now() - watch.run_began);
  watch.wait_until_quiet();
}

const ReplicaTrack& EngineWatch::track() const {
  return impl_->track;
}

}  // namespace sluice::loadgen
