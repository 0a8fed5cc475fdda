#include "autoscaler/io/holder_socket.h"

#include "common/proto/stat_messages_codec.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>

#include <deque>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::autoscaler {
namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds kEstablish{500};
constexpr std::chrono::seconds kSilence{10};       // pings go out at half of it
constexpr std::size_t kFrameBytesMax = 64 * 1024;  // of what we only skip
constexpr std::size_t kFrameStats = 1'000;
constexpr std::string_view kScheme = "ws://";

struct Target {
  std::string host;
  std::string port;
  std::string authority;
};

Target target_of(std::string_view address) {
  if (address.starts_with(kScheme)) address.remove_prefix(kScheme.size());
  Target target{.host = {}, .port = "80", .authority = std::string{address}};
  const std::size_t colon = address.rfind(':');
  target.host = std::string{address.substr(0, colon)};
  if (colon != std::string_view::npos) target.port = std::string{address.substr(colon + 1)};
  if (target.host.starts_with('[') && target.host.ends_with(']')) {
    target.host = target.host.substr(1, target.host.size() - 2);
  }
  return target;
}

// One attempt to connect, and the connection that may come of it.
struct Line {
  explicit Line(asio::io_context& io) : resolver{io}, stream{io}, deadline{io} {}

  void cut() {
    over = true;
    error_code ignored;
    resolver.cancel();
    deadline.cancel();
    stream.next_layer().close(ignored);
  }

  tcp::resolver resolver;
  websocket::stream<tcp::socket> stream;
  asio::steady_timer deadline;
  boost::beast::flat_buffer in;
  std::string out;
  bool open = false;
  bool over = false;
};

}  // namespace

std::string frame_of(std::span<const StatToForward> stats) {
  std::vector<proto::StatMessage> messages;
  messages.reserve(stats.size());
  for (const StatToForward& each : stats) messages.push_back(message_of(each));
  return proto::encode_stat_messages(messages);
}

struct HolderSocket::State {
  using Shared = std::shared_ptr<State>;
  using One = std::shared_ptr<Line>;

  State(asio::io_context& loop, std::vector<std::string> where, Events what)
      : io{loop}, addresses{std::move(where)}, events{std::move(what)} {}

  static void dial(const Shared& self) {
    const One line = std::make_shared<Line>(self->io);
    self->line = line;
    line->deadline.expires_after(kEstablish);
    line->deadline.async_wait([self, line](const error_code& ec) {
      if (!ec && !line->open) broken(self, line);
    });
    const Target target = target_of(self->addresses[self->next]);
    line->resolver.async_resolve(
        target.host, target.port,
        [self, line, target](const error_code& ec, const tcp::resolver::results_type& found) {
          if (line->over) return;
          if (ec) return broken(self, line);
          asio::async_connect(line->stream.next_layer(), found,
                              [self, line, target](const error_code& failed, const auto& /*at*/) {
                                if (line->over) return;
                                if (failed) return broken(self, line);
                                shake_hands(self, line, target.authority);
                              });
        });
  }

  static void shake_hands(const Shared& self, const One& line, const std::string& authority) {
    error_code ignored;
    line->stream.next_layer().set_option(tcp::no_delay{true}, ignored);
    line->stream.binary(true);
    line->stream.read_message_max(kFrameBytesMax);
    line->stream.set_option(websocket::stream_base::timeout{kSilence, kSilence, true});
    line->stream.async_handshake(authority, "/", [self, line](const error_code& ec) {
      if (line->over) return;
      if (ec) return broken(self, line);
      line->open = true;
      line->deadline.cancel();
      read(self, line);
      write(self, line);
    });
  }

  // Nothing is said to us; reading answers pings and notices the end.
  static void read(const Shared& self, const One& line) {
    line->stream.async_read(line->in, [self, line](const error_code& ec, std::size_t /*bytes*/) {
      if (line->over) return;
      if (ec) return broken(self, line);
      line->in.clear();
      read(self, line);
    });
  }

  static void write(const Shared& self, const One& line) {
    if (!self->sending.empty() || self->waiting.empty()) return;
    while (!self->waiting.empty() && self->sending.size() < kFrameStats) {
      self->sending.push_back(std::move(self->waiting.front()));
      self->waiting.pop_front();
    }
    line->out = frame_of(self->sending);
    line->stream.async_write(asio::buffer(line->out),
                             [self, line](const error_code& ec, std::size_t /*bytes*/) {
                               if (line->over) return;
                               if (ec) return broken(self, line);
                               const std::size_t count = std::exchange(self->sending, {}).size();
                               if (self->events.sent) self->events.sent(count);
                               write(self, line);
                             });
  }

  // The next address, once round; then the owner of the stats has to try again.
  static void broken(const Shared& self, const One& line) {
    const bool was_open = line->open;
    line->cut();
    if (self->line != line) return;
    self->line.reset();
    if (!was_open && ++self->next < self->addresses.size()) return dial(self);
    self->next = 0;
    Stats failed = std::exchange(self->sending, {});
    for (StatToForward& stat : self->waiting) failed.push_back(std::move(stat));
    self->waiting.clear();
    if (self->events.failed) self->events.failed(std::move(failed));
  }

  asio::io_context& io;
  std::vector<std::string> addresses;
  Events events;
  One line;
  std::size_t next = 0;  // address that is dialled
  std::deque<StatToForward> waiting;
  Stats sending;
};

HolderSocket::HolderSocket(asio::io_context& io, std::vector<std::string> addresses, Events events)
    : state_{std::make_shared<State>(io, std::move(addresses), std::move(events))} {}

HolderSocket::~HolderSocket() {
  state_->events = {};
  if (const State::One line = std::exchange(state_->line, nullptr)) line->cut();
}

void HolderSocket::send(Stats stats) {
  Stats beyond;
  for (StatToForward& stat : stats) {
    if (state_->addresses.empty() || state_->waiting.size() >= kWaitingMax) {
      beyond.push_back(std::move(stat));
    } else {
      state_->waiting.push_back(std::move(stat));
    }
  }
  if (!beyond.empty()) {
    asio::post(state_->io, [state = state_, beyond = std::move(beyond)]() mutable {
      if (state->events.failed) state->events.failed(std::move(beyond));
    });
  }
  if (state_->waiting.empty()) return;
  if (!state_->line) {
    State::dial(state_);
  } else if (state_->line->open) {
    State::write(state_, state_->line);
  }
}

}  // namespace sluice::autoscaler
