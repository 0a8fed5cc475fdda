#include "autoscaler/io/stat_socket.h"

#include "autoscaler/core/share/buckets.h"
#include "common/net/server/listener.h"
#include "common/net/socket.h"
#include "common/proto/stat_messages_codec.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <set>
#include <string_view>
#include <sys/socket.h>
#include <utility>

namespace sluice::autoscaler {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

namespace {

constexpr std::string_view kKubeletAgent = "kube-probe/";

// A peer that vanished without closing would keep its place indefinitely.
void watch_silence(net::Socket& socket, Duration silence) {
  const int descriptor = socket.native_handle();
  const int on = 1;
  const auto seconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(silence).count());
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
}

bool is_kubelet_probe(const http::request<http::empty_body>& request) {
  return request[http::field::user_agent].starts_with(
             beast::string_view{kKubeletAgent.data(), kKubeletAgent.size()}) ||
         !request["K-Kubelet-Probe"].empty();
}

}  // namespace

struct StatSocket::Session {
  using Stream = websocket::stream<net::Socket>;

  Session(asio::io_context& io, net::Socket socket, std::size_t head_bytes_max)
      : stream{std::move(socket)}, timer{io} {
    parser.header_limit(static_cast<std::uint32_t>(head_bytes_max));
    parser.body_limit(std::uint64_t{0});
  }

  // Any pending operation ends with an error soon.
  void cut() {
    error_code ignored;
    stream.next_layer().close(ignored);
    timer.cancel();
  }

  Stream stream;
  asio::steady_timer timer;
  beast::flat_buffer in{proto::kStatFrameBytesMax + 64 * 1024};
  http::request_parser<http::empty_body> parser;
  http::response<http::string_body> answer;
  bool open = false;  // a WebSocket now
};

struct StatSocket::State {
  using Shared = std::shared_ptr<State>;
  using One = std::shared_ptr<Session>;

  State(asio::io_context& loop, const log::Logger& logger, std::vector<std::string> buckets,
        Events what, StatSocketLimits bounds)
      : io{loop},
        log{logger},
        owned{std::move(buckets)},
        events{std::move(what)},
        limits{bounds},
        closing_timer{loop} {}

  static void accepted(const Shared& self, net::Socket socket) {
    if (self->sessions.size() >= self->limits.connections_max) {
      ++self->counts.refused;
      return;
    }
    watch_silence(socket, self->limits.silence_probe);
    const auto session =
        std::make_shared<Session>(self->io, std::move(socket), self->limits.head_bytes_max);
    self->sessions.insert(session);
    session->timer.expires_after(self->limits.opening);
    session->timer.async_wait([session](const error_code& ec) {
      if (!ec) session->cut();
    });
    http::async_read(session->stream.next_layer(), session->in, session->parser,
                     [self, session](const error_code& ec, std::size_t /*bytes*/) {
                       if (ec) {
                         self->gone(session);
                       } else {
                         take_request(self, session);
                       }
                     });
  }

  static void take_request(const Shared& self, const One& session) {
    const auto& request = session->parser.get();
    if (is_kubelet_probe(request)) {
      answer(self, session, http::status::ok, "");
      return;
    }
    const beast::string_view host = request[http::field::host];
    if (!accepts_connection({host.data(), host.size()}, self->owned)) {
      ++self->counts.refused;
      session->cut();
      self->gone(session);
      return;
    }
    if (!websocket::is_upgrade(request)) {
      answer(self, session, http::status::upgrade_required,
             "this address takes stats as binary WebSocket frames; the HTTP API has another "
             "address\n");
      return;
    }
    upgrade(self, session);
  }

  static void upgrade(const Shared& self, const One& session) {
    session->stream.read_message_max(proto::kStatFrameBytesMax);
    session->stream.set_option(websocket::stream_base::decorator(
        [](websocket::response_type& response) { response.erase(http::field::server); }));
    session->stream.async_accept(session->parser.get(), [self, session](const error_code& ec) {
      session->timer.cancel();
      if (ec || self->closed) {
        session->cut();
        self->gone(session);
        return;
      }
      session->open = true;
      session->in.clear();
      self->log.write(log::Severity::info, "a sender of stats is connected",
                      {{"senders", std::to_string(self->connected())}});
      read(self, session);
    });
  }

  static void answer(const Shared& self, const One& session, http::status status,
                     const std::string& text) {
    session->answer.result(status);
    session->answer.version(session->parser.get().version());
    session->answer.set(http::field::content_type, "text/plain; charset=utf-8");
    if (status == http::status::upgrade_required) {
      session->answer.set(http::field::upgrade, "websocket");
    }
    session->answer.keep_alive(false);
    session->answer.body() = text;
    session->answer.prepare_payload();
    http::async_write(session->stream.next_layer(), session->answer,
                      [self, session](const error_code& /*ec*/, std::size_t /*bytes*/) {
                        error_code ignored;
                        session->stream.next_layer().shutdown(net::Socket::shutdown_send, ignored);
                        session->cut();
                        self->gone(session);
                      });
  }

  static void read(const Shared& self, const One& session) {
    session->stream.async_read(session->in,
                               [self, session](const error_code& ec, std::size_t /*bytes*/) {
                                 if (ec) {
                                   self->lost(session, ec);
                                   return;
                                 }
                                 self->take_frame(*session);
                                 read(self, session);
                               });
  }

  void take_frame(Session& session) {
    if (closed) return;
    if (!session.stream.got_binary()) {
      if (counts.text++ == 0) {
        log.write(log::Severity::warning, "text frames are dropped: stats must be in binary ones");
      }
    } else {
      ++counts.frames;
      const auto data = session.in.cdata();
      const auto messages =
          proto::decode_stat_messages({static_cast<const char*>(data.data()), data.size()});
      if (messages) {
        events.stats(*messages);
      } else if (counts.undecodable++ == 0) {
        log.write(log::Severity::warning, "a frame that is not a list of stats is dropped",
                  {{"why", std::string{describe(messages.error())}}});
      }
    }
    session.in.clear();
    // A single large frame must not keep its memory indefinitely.
    if (session.in.capacity() > 256 * 1024) session.in.shrink_to_fit();
  }

  void lost(const One& session, const error_code& ec) {
    session->open = false;
    session->cut();
    if (!closed) {
      log.write(log::Severity::info, "a sender of stats has disconnected",
                {{"how", ec.message()}, {"senders", std::to_string(connected())}});
    }
    gone(session);
  }

  void gone(const One& session) {
    session->open = false;
    session->timer.cancel();
    sessions.erase(session);
    if (sessions.empty() && on_closed) {
      closing_timer.cancel();
      std::exchange(on_closed, {})();
    }
  }

  [[nodiscard]] std::size_t connected() const {
    std::size_t count = 0;
    for (const One& session : sessions) count += session->open ? 1U : 0U;
    return count;
  }

  void cut_all() {
    for (const One& session : sessions) session->cut();
  }

  asio::io_context& io;
  const log::Logger& log;
  std::vector<std::string> owned;
  Events events;
  StatSocketLimits limits;
  std::unique_ptr<net::Listener> listener;
  std::set<One> sessions;
  StatSocketCounts counts;
  asio::steady_timer closing_timer;
  std::function<void()> on_closed;
  bool closed = false;
};

StatSocket::StatSocket(asio::io_context& io, const log::Logger& log, std::vector<std::string> owned,
                       Events events, StatSocketLimits limits)
    : state_{std::make_shared<State>(io, log, std::move(owned), std::move(events), limits)} {}

void StatSocket::set_owned(std::vector<std::string> owned) {
  state_->owned = std::move(owned);
}

StatSocket::~StatSocket() {
  state_->closed = true;
  state_->on_closed = {};
  state_->listener.reset();
  state_->closing_timer.cancel();
  state_->cut_all();
}

Result<net::Address, Problem> StatSocket::open(const net::Address& address) {
  state_->listener = std::make_unique<net::Listener>(
      state_->io, [weak = std::weak_ptr<State>{state_}](net::Socket socket) {
        if (const auto state = weak.lock()) State::accepted(state, std::move(socket));
      });
  return state_->listener->open(address);
}

void StatSocket::close(std::function<void()> closed) {
  state_->closed = true;
  if (state_->listener) state_->listener->close();
  state_->on_closed = std::move(closed);
  state_->closing_timer.expires_after(state_->limits.closing);
  state_->closing_timer.async_wait([state = state_](const error_code& ec) {
    if (!ec) state->cut_all();
  });
  const std::set<State::One> sessions = state_->sessions;
  for (const State::One& session : sessions) {
    if (!session->open) {
      session->cut();
      continue;
    }
    session->stream.async_close({websocket::close_code::service_restart, "Restarting"},
                                [session](const error_code& /*ec*/) { session->cut(); });
  }
  if (sessions.empty()) {
    state_->closing_timer.cancel();
    std::exchange(state_->on_closed, {})();
  }
}

std::size_t StatSocket::connected() const {
  return state_->connected();
}

const StatSocketCounts& StatSocket::counts() const {
  return state_->counts;
}

}  // namespace sluice::autoscaler
